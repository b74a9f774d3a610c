/**
 * Prometheus: its own reader of scrapes, compiled from its Go modules (hack/checks), as the last word on what is
 * valid. Where there is no Go, as with a cluster that was not built here, it cannot be asked.
 */
import assert from 'node:assert/strict';
import { goProgram, unlessMissing } from '../manifests/programs.ts';

/**
 * What promlint has to say about a scrape, one line per problem; undefined without Go.
 *
 * @throws {AssertionError} when Prometheus would refuse the scrape.
 */
export async function readByPrometheus(scrape: string): Promise<string[] | undefined> {
  const program = await unlessMissing(goProgram);
  if ('skip' in program) return undefined;
  const { code, stdout, stderr } = await program('checks', ['promlint'], scrape);
  assert.equal(code, 0, stderr);
  return stdout.split('\n').filter((line) => line !== '');
}
