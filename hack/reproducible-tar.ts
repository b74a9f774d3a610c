/** Arguments of GNU tar for the same bytes from the same files, on every machine and at any time. */
export const reproducibleTar: readonly string[] = [
  ...['--format=ustar', '--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'],
  '--mode=u=rwX,go=rX',
];
