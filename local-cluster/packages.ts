/**
 * Packages: the programs of the machine that a node needs, and where Debian has them.
 *
 * Only what is missing is installed, so a container runtime that came with Docker is used as it is.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { download, install } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { ClusterError } from './cluster-error.ts';

export interface Requirement {
  program: string;
  debianPackage: string;
  /** Where it is looked for beside PATH. */
  directories?: readonly string[];
}

const systemDirectories = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const cniDirectories = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];

const requirements: readonly Requirement[] = [
  { program: 'containerd', debianPackage: 'containerd' },
  { program: 'containerd-shim-runc-v2', debianPackage: 'containerd' },
  { program: 'runc', debianPackage: 'runc' },
  { program: 'bridge', debianPackage: 'containernetworking-plugins', directories: cniDirectories },
  { program: 'iptables', debianPackage: 'iptables' },
  { program: 'ip', debianPackage: 'iproute2' },
  { program: 'mount', debianPackage: 'mount' },
  { program: 'unshare', debianPackage: 'util-linux' },
  { program: 'nsenter', debianPackage: 'util-linux' },
];

/** Paths of what the node's configuration has to name. */
export interface NodePackages {
  containerd: string;
  /** The folder of the CNI plugins. */
  cni: string;
  /** A BusyBox that needs no libraries, to make an image of. */
  busybox: string;
}

/**
 * Finds the programs, and installs the missing ones where there is apt.
 *
 * @throws {ClusterError} that names the missing programs and their packages
 */
export async function ensurePackages(): Promise<NodePackages> {
  const missing = requirements.filter((requirement) => find(requirement) === undefined);
  if (missing.length > 0) {
    await installMissing(missing);
  }
  return {
    containerd: find({ program: 'containerd', debianPackage: 'containerd' }) ?? 'containerd',
    cni: cniDirectories.find((directory) => existsSync(join(directory, 'bridge'))) ?? '',
    busybox: await findBusybox(),
  };
}

export function find({ program, directories }: Requirement): string | undefined {
  const places = directories ?? [...(process.env.PATH ?? '').split(delimiter), ...systemDirectories];
  return places.map((directory) => join(directory, program)).find((path) => existsSync(path));
}

/** A sentence about programs that are missing. */
export function describeMissing(missing: readonly Requirement[], hasApt: boolean): string {
  const programs = [...new Set(missing.map(({ program }) => program))].join(', ');
  const packages = packagesOf(missing).join(' ');
  const remedy = hasApt ? `apt-get install ${packages}` : `what Debian has in its packages ${packages}`;
  return `a node needs programs that this machine lacks: ${programs}. Install them: ${remedy}`;
}

function packagesOf(missing: readonly Requirement[]): string[] {
  return [...new Set(missing.map(({ debianPackage }) => debianPackage))];
}

async function installMissing(missing: readonly Requirement[]): Promise<void> {
  if (!hasApt()) {
    throw new ClusterError(describeMissing(missing, false));
  }
  const result = await install(packagesOf(missing));
  const still = missing.filter((requirement) => find(requirement) === undefined);
  if (still.length > 0) {
    throw new ClusterError(`${describeMissing(still, true)}\napt-get said:\n${ending(result.output)}`);
  }
}

function hasApt(): boolean {
  return find({ program: 'apt-get', debianPackage: 'apt' }) !== undefined;
}

/**
 * The machine's own if it is static; else Debian's package, unpacked into the cache only, because installing it
 * would remove the other BusyBox.
 */
async function findBusybox(): Promise<string> {
  const own = find({ program: 'busybox', debianPackage: 'busybox-static' });
  if (own !== undefined && isStatic(own)) {
    return own;
  }
  const directory = join(cacheDirectory(), 'busybox');
  const unpacked = () =>
    ['bin', 'usr/bin'].map((bin) => join(directory, bin, 'busybox')).find((path) => existsSync(path));
  const path = unpacked() ?? ((await unpackBusybox(directory)) ? unpacked() : undefined);
  if (path === undefined) {
    throw new ClusterError(
      'a node needs a static busybox to make an image of: install the package busybox-static',
    );
  }
  return path;
}

/** Unpacked aside and renamed, so that an interruption leaves no half of it. */
async function unpackBusybox(directory: string): Promise<boolean> {
  if (!hasApt()) {
    return false;
  }
  mkdirSync(dirname(directory), { recursive: true });
  const aside = mkdtempSync(`${directory}-`);
  try {
    const { ok, output } = await download('busybox-static', aside);
    const unpack = 'dpkg-deb -x busybox-static_*.deb content';
    if (!ok || spawnSync('sh', ['-c', unpack], { cwd: aside, stdio: ['ignore', 2, 2] }).status !== 0) {
      console.error(ending(output));
      return false;
    }
    rmSync(directory, { recursive: true, force: true });
    renameSync(join(aside, 'content'), directory);
    return true;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function ending(output: string): string {
  return output.trimEnd().split('\n').slice(-8).join('\n');
}

/** Whether a program runs without shared libraries, also where there are none. */
export function isStatic(program: string): boolean {
  const { stdout, stderr } = spawnSync('ldd', [program], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  return /statically linked|not a dynamic executable/.test(`${stdout}${stderr}`);
}
