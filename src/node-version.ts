/** Node version: whether the Node.js that runs a program is new enough for it. */

/**
 * The sentence for one that is too old, which the packages inside would fail on in a less readable way; undefined
 * for the others.
 *
 * @param own `24.1.0`. @param wanted `>=22.19`, of package.json.
 */
export function nodeVersionProblem(own: string, wanted: string): string | undefined {
  const least = wanted.replace('>=', '');
  const [major = 0, minor = 0] = least.split('.').map(Number);
  const [ownMajor = 0, ownMinor = 0] = own.split('.').map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return undefined;
  return `Node.js ${least} or later is needed, this is ${own}`;
}
