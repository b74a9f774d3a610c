/**
 * apt: installs Debian packages without a question and without starting a service.
 */
import { spawn } from 'node:child_process';
import { startProgress } from './progress.ts';

/** In milliseconds; a download may be slow, but not endless. */
const limit = 600_000;

/** Installs packages, with fresh package lists if the ones at hand do not suffice. */
export async function install(packages: readonly string[]): Promise<AptResult> {
  const progress = startProgress(`installing the Debian packages ${packages.join(', ')}`);
  try {
    return await withFreshLists(() =>
      run(withoutServices(['install', '-y', '--no-install-recommends', ...packages])),
    );
  } finally {
    progress.end();
  }
}

/** Downloads a package into a folder without installing it. */
export function download(name: string, directory: string): Promise<AptResult> {
  // The user that apt downloads as may not write into root's folders.
  const command = ['apt-get', '-q', '-o', 'APT::Sandbox::User=root', 'download', name];
  return withFreshLists(() => run(command, directory));
}

export interface AptResult {
  ok: boolean;
  /** What apt printed. */
  output: string;
}

async function withFreshLists(attempt: () => Promise<AptResult>): Promise<AptResult> {
  const first = await attempt();
  if (first.ok) {
    return first;
  }
  const update = await run(['apt-get', '-q', 'update']);
  if (!update.ok) {
    return update;
  }
  return await attempt();
}

/**
 * In a mount namespace that hides systemd: the packages' scripts then see a machine without it and start no service.
 * (A policy-rc.d file would do the same, but a crash would leave it behind.)
 */
function withoutServices(args: readonly string[]): string[] {
  const hideSystemd = 'if [ -d /run/systemd ]; then mount -t tmpfs atwatch /run/systemd; fi; exec "$@"';
  const wait = ['-o', 'DPkg::Lock::Timeout=120'];
  return ['unshare', '--mount', 'sh', '-c', hideSystemd, 'sh', 'apt-get', '-q', ...wait, ...args];
}

/** In a session of its own: Ctrl-C shall not leave a package half installed. */
function run([command = '', ...args]: readonly string[], cwd = '/'): Promise<AptResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      detached: true,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limit,
    });
    let output = '';
    const collect = (data: Buffer) => {
      output += data.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', (error) => resolve({ ok: false, output: error.message }));
    child.once('close', (code) => resolve({ ok: code === 0, output }));
  });
}
