/**
 * Signatures by cosign, under a key and without a transparency log: nothing outside of the release is asked, neither to
 * sign nor to verify.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findCosign } from '../cosign/program.ts';

const execute = promisify(execFile);

/** The signature of a file lies beside it. */
export const signatureOf = (file: string) => `${file}.sigstore.json`;

/** Without it cosign would ask a service on the internet where to sign. */
const offline = ['--use-signing-config=false', '--tlog-upload=false', '--yes'];

/** @param key path or address of a private key; a path's password is in COSIGN_PASSWORD. */
export async function sign(file: string, key: string): Promise<void> {
  await cosign('sign-blob', ['--key', key, ...offline, '--bundle', signatureOf(file), file]);
}

/** Signs a statement as an attestation, which holds it. */
export async function attest(statement: string, key: string, bundle: string): Promise<void> {
  await cosign('attest-blob', ['--key', key, ...offline, '--statement', statement, '--bundle', bundle]);
}

/** @throws {Error} with what cosign said, for another key or another content. */
export async function verify(file: string, key: string): Promise<void> {
  const options = ['--key', key, '--insecure-ignore-tlog', '--bundle', signatureOf(file)];
  await cosign('verify-blob', [...options, file]);
}

/** @throws {Error} with what cosign said, for another key, another type, and a file that the attestation does not name. */
export async function verifyAttestation(bundle: string, key: string, file: string): Promise<void> {
  const options = ['--key', key, '--insecure-ignore-tlog', '--bundle', bundle, '--type=slsaprovenance1'];
  await cosign('verify-blob-attestation', [...options, file]);
}

async function cosign(command: string, args: readonly string[]): Promise<void> {
  const program = await findCosign();
  // Without a password in the environment cosign would ask for one, and wait.
  const env = { COSIGN_PASSWORD: '', ...process.env };
  try {
    await execute(program, [command, ...args], { env, timeout: 60_000 });
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    const said = stderr.split('\n').find((line) => line.startsWith('Error: '));
    throw new Error(`cosign ${command}: ${said?.slice('Error: '.length) ?? stderr.trim()}`, { cause });
  }
}
