/**
 * Builder: the program that turns the Dockerfile into an image.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageError, NoBuilderError } from './image-error.ts';

/** The folder of the Dockerfile. */
export const sourceDirectory = join(import.meta.dirname, '..', '..');

/** In the order of preference; docker without its daemon is not there. */
const builders: readonly { readonly program: string; readonly check: readonly string[] }[] = [
  { program: 'docker', check: ['info'] },
  { program: 'podman', check: ['info'] },
  { program: 'buildah', check: ['info'] },
];

/**
 * Builds an image into the builder's own store, from where its `push` takes it.
 *
 * @param env BUILD_IMAGE and RUN_IMAGE replace the base images, where these come from a mirror.
 * @throws {NoBuilderError} when there is none. {ImageError} when the build fails; its output has been shown then.
 */
export async function buildImage(name: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const builder = findBuilder('build');
  console.error(`building ${name} with ${builder.program}`);
  const options = [...versionArguments(), ...baseArguments(env), ...timeArguments(builder.program)];
  const command = [builder.program, 'build', '--tag', name, ...options, sourceDirectory];
  await run(command, 'inherit');
}

/**
 * Pushes an image from the builder's own store to the registry that its name says, with the builder's credentials.
 *
 * @throws {NoBuilderError} when there is none. {ImageError} when the push fails; its output has been shown then.
 */
export async function pushImage(name: string): Promise<void> {
  await run([findBuilder('push').program, 'push', name], 'inherit');
}

/** What the image's labels say. */
export function versionArguments(): string[] {
  const { version } = JSON.parse(readFileSync(join(sourceDirectory, 'package.json'), 'utf8'));
  const git = spawnSync('git', ['-C', sourceDirectory, 'rev-parse', 'HEAD'], { encoding: 'utf8' });
  const revision = git.status === 0 ? git.stdout.trim() : 'unknown';
  return ['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${revision}`];
}

/** When the sources were committed, in seconds since 1970; 0 outside of git. It stands in for the time of the build. */
export function sourceDate(): number {
  const git = spawnSync('git', ['-C', sourceDirectory, 'log', '-1', '--format=%ct'], { encoding: 'utf8' });
  return git.status === 0 ? Number(git.stdout) : 0;
}

function baseArguments(env: NodeJS.ProcessEnv): string[] {
  return ['BUILD_IMAGE', 'RUN_IMAGE'].flatMap((name) =>
    env[name] ? ['--build-arg', `${name}=${env[name]}`] : [],
  );
}

/** One time for the same sources, so that they give the same image. */
function timeArguments(program: string): string[] {
  return program === 'docker'
    ? ['--build-arg', `SOURCE_DATE_EPOCH=${sourceDate()}`]
    : [`--timestamp=${sourceDate()}`];
}

function findBuilder(purpose: 'build' | 'push'): (typeof builders)[number] {
  const builder = builders.find(({ program, check }) => answers(program, check));
  if (builder) return builder;
  throw new NoBuilderError(
    `no docker, podman or buildah answers: install one of them to ${purpose} the image`,
  );
}

function answers(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/**
 * Runs a command to its end.
 *
 * @param output shown as it comes, or kept for the error.
 * @throws {ImageError} with the end of what it said when it fails.
 */
export function run([program = '', ...args]: readonly string[], output: 'inherit' | 'pipe'): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', output, output] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data: Buffer) => {
        said += data;
      });
    }
    child.once('error', (cause) => reject(new ImageError(`cannot run ${program}`, { cause })));
    child.once('close', (code) => {
      const ending = said.trimEnd().split('\n').slice(-15).join('\n');
      if (code === 0) resolve();
      else reject(new ImageError(`${program} ${args[0]} failed (${code})${ending && `:\n${ending}`}`));
    });
  });
}
