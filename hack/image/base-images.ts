/**
 * Base images made of what is on this machine: the Node.js of the npm package with its libraries, npm, and a
 * static BusyBox. They stand in for those of the Dockerfile where none can be downloaded.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { NoBuilderError } from './image-error.ts';

/** What is asked of the machine for the base images. */
export interface Materials {
  /** Path of a Node.js that may need libraries. */
  readonly node: string;
  /** Path of the licence of that Node.js. */
  readonly nodeLicense: string;
  /** Path of a BusyBox that needs none. */
  readonly busybox: string;
}

const user = 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n';

/** In the place of distroless: Node.js where distroless has it, its libraries, a user, nothing else. */
export function writeRunRoot(root: string, { node, nodeLicense }: Materials): object {
  installWithLibraries(node, root, '/nodejs/bin/node');
  installProgram(nodeLicense, join(root, 'nodejs', 'LICENSE'), 0o644);
  writeDebianPackages(root, librariesOf(node));
  writeAccounts(root);
  return { Env: ['PATH=/nodejs/bin'], User: '65532:65532', WorkingDir: '/home/nonroot' };
}

/**
 * In the place of the official Node.js image: node, npm and a shell.
 *
 * @param env more of its environment, each `NAME=value`.
 */
export function writeBuildRoot(root: string, { node, busybox }: Materials, env: readonly string[]): object {
  installWithLibraries(node, root, '/usr/local/bin/node');
  installNpm(root);
  installProgram(busybox, join(root, 'bin', 'busybox'));
  for (const applet of ['sh', 'env', 'cat', 'chmod', 'mkdir', 'rm', 'ls']) {
    symlinkSync('busybox', join(root, 'bin', applet));
  }
  // Where scripts look for it: #!/usr/bin/env node
  mkdirSync(join(root, 'usr', 'bin'), { recursive: true });
  symlinkSync('/bin/busybox', join(root, 'usr', 'bin', 'env'));
  writeAccounts(root);
  return { Cmd: ['sh'], Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/root', ...env] };
}

function writeAccounts(root: string): void {
  for (const directory of ['etc', 'root', 'tmp', 'home/nonroot']) {
    mkdirSync(join(root, directory), { recursive: true });
  }
  writeFileSync(join(root, 'etc', 'passwd'), `root:x:0:0:root:/root:/sbin/nologin\n${user}`);
  writeFileSync(join(root, 'etc', 'group'), 'root:x:0:\nnonroot:x:65532:\n');
  chmodSync(join(root, 'tmp'), 0o1777);
}

function installWithLibraries(program: string, root: string, path: string): void {
  installProgram(program, join(root, path));
  for (const library of librariesOf(program)) {
    installProgram(library, join(root, library));
  }
}

/** The paths of the shared libraries that the dynamic linker would load, and of the linker itself. */
function librariesOf(program: string): string[] {
  const lines = execFileSync('ldd', [program], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

function installNpm(root: string): void {
  const npm = execFileSync('sh', ['-c', 'command -v npm || true'], { encoding: 'utf8' }).trim();
  const source = npm && dirname(dirname(realpathSync(npm)));
  if (!source || !existsSync(join(source, 'bin', 'npm-cli.js'))) {
    throw new NoBuilderError('npm is not installed in the usual way, so no base image can be made of it');
  }
  cpSync(source, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
}

function installProgram(source: string, target: string, mode = 0o755): void {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(source, target);
  chmodSync(target, mode);
}

/** What distroless says of its packages, for the packages that the libraries come from. Nothing without dpkg. */
function writeDebianPackages(root: string, libraries: readonly string[]): void {
  const folder = join(root, 'var', 'lib', 'dpkg', 'status.d');
  mkdirSync(folder, { recursive: true });
  for (const library of libraries) {
    // dpkg knows a file by the path it was installed at, which a link may have made another since.
    const paths = [library, realpathSync(library)];
    const { stdout = '' } = spawnSync('dpkg', ['-S', ...paths], { encoding: 'utf8' });
    const [name] = stdout.split(':');
    if (name) writeFileSync(join(folder, name), execFileSync('dpkg', ['-s', name]));
  }
}
