/**
 * Checks the sentences of the documents, and those that the programs print, against the rules of this folder.
 *
 * Where Vale cannot be built the check is left out, with one line that says why; in continuous integration (CI=true)
 * that is a failure. HINTS=1 also prints hints, which fail nothing.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterError } from '../../local-cluster/cluster-error.ts';
import { documents } from './documents.ts';
import { printedTexts } from './printed-texts.ts';
import { type Alert, checkProse, whyNoVale } from './program.ts';

const hints = process.env.HINTS === '1';
const reason = whyNoVale();
if (reason === undefined) {
  try {
    const alerts = [...(await checkProse(await documents(), { hints })), ...(await checkPrinted())];
    for (const { path, line, rule, message } of alerts)
      console.error(`${path}:${line}: ${message} (${rule})`);
    if (alerts.some(({ isHint }) => !isHint)) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
} else {
  const leftOut = process.env.CI !== 'true';
  console.error(`${leftOut ? 'the check of the prose is left out: ' : ''}${reason}`);
  if (!leftOut) process.exitCode = 1;
}

/** The texts as documents, each named after its source. */
async function checkPrinted(): Promise<readonly Alert[]> {
  const folder = await mkdtemp(join(tmpdir(), 'atwatch-prose-'));
  try {
    const paths: string[] = [];
    for (const [source, text] of await printedTexts()) {
      const path = join(folder, `${source}.md`);
      await writeFile(path, text);
      paths.push(path);
    }
    const alerts = await checkProse(paths, { hints });
    return alerts.map((alert) => ({ ...alert, path: alert.path.slice(folder.length + 1, -3) }));
  } finally {
    await rm(folder, { recursive: true });
  }
}
