/** Checksums of a release: SHA256SUMS, as `sha256sum --check` reads it. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

export const checksumFile = 'SHA256SUMS';

/** Digests in hexadecimal, by the names of the files. */
export type Checksums = ReadonlyMap<string, string>;

export function printChecksums(checksums: Checksums): string {
  return [...checksums]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, digest]) => `${digest}  ${name}\n`)
    .join('');
}

/** @throws {Error} for a line of another form: one that is skipped would be a file that nothing checks. */
export function parseChecksums(text: string): Checksums {
  const lines = text.split('\n').slice(0, -1);
  return new Map(
    lines.map((line) => {
      const [, digest, name] = /^([0-9a-f]{64}) {2}([\w.-]+)$/.exec(line) ?? [];
      if (digest === undefined || name === undefined) throw new Error(`${checksumFile} has a line "${line}"`);
      return [name, digest];
    }),
  );
}

export function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Of a file. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
