/**
 * Prometheus: its own reader of scrapes, compiled from its Go modules (test/fixtures/promcheck), as the last
 * word on what is valid. Where there is no Go, as with a cluster that was not built here, it cannot be asked.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { findGo } from '../../hack/cluster/go-program.ts';

const directory = new URL('../fixtures/promcheck', import.meta.url).pathname;

/**
 * What promlint has to say about a scrape, one line per problem; undefined without Go.
 *
 * @throws {AssertionError} when Prometheus would refuse the scrape.
 */
export async function readByPrometheus(scrape: string): Promise<string[] | undefined> {
  const go = findGo();
  if (go === undefined) return undefined;
  const child = spawn(go, ['run', '-C', directory, '.'], { stdio: 'pipe' });
  child.stdin.end(scrape);
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [code, problems, refusal] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  assert.equal(code, 0, refusal);
  return problems.split('\n').filter((line) => line !== '');
}
