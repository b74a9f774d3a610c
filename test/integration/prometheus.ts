/**
 * Prometheus: its own reader of scrapes, compiled from its Go modules (test/fixtures/promcheck), as the last
 * word on what is valid. Where there is no Go, as with a cluster that was not built here, it cannot be asked.
 */
import { runChecker } from '../fixtures/checker.ts';

/**
 * What promlint has to say about a scrape, one line per problem; undefined without Go.
 *
 * @throws {AssertionError} when Prometheus would refuse the scrape.
 */
export async function readByPrometheus(scrape: string): Promise<string[] | undefined> {
  const problems = await runChecker('promcheck', scrape);
  return problems?.split('\n').filter((line) => line !== '');
}
