/**
 * Alerts and dashboard against the metrics of a running operator: each query asks for metrics and labels that
 * exist. PromQL is read by Prometheus' own parser.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { goProgram, unlessMissing } from '../manifests/programs.ts';
import { allQueries } from '../manifests/queries.ts';
import { parseExposition } from '../runtime/metrics/exposition.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { applyCrds, withNamespace } from './support.ts';

const program = await unlessMissing(goProgram);

interface Selector {
  readonly metric: string;
  /** By which the query selects, groups or joins. */
  readonly labels: readonly string[];
  /** Those that it names one value of. */
  readonly values: Readonly<Record<string, string>>;
}

/** What Prometheus and the ServiceMonitor put on each series. */
const ofTarget: Readonly<Record<string, string>> = { job: 'atwatch', namespace: 'a', pod: 'p' };

it('alerts and dashboard ask for metrics, labels and values that the operator shows', {
  skip: 'skip' in program && program.skip,
}, async (t) => {
  if ('skip' in program) return;
  await applyCrds();
  const operator = new OperatorProcess(t, await withNamespace(t), ['--leader-elect', '--policy-self-test']);
  await operator.logged('"msg":"ready"');
  const samples = [...parseExposition(await operator.metrics()).values()].flatMap((family) => family.samples);
  const series = Map.groupBy(
    // Prometheus' own, one per target.
    [...samples, { name: 'up', labels: {}, value: 1 }],
    ({ name }) => name,
  );

  const queries = await allQueries();
  const { code, stdout, stderr } = await program('checks', ['promql'], JSON.stringify(queries));
  assert.equal(code, 0, stderr);
  const selected: Selector[][] = JSON.parse(stdout);
  assert.ok(selected.length > 30);
  for (const [index, selectors] of selected.entries()) {
    assert.notEqual(selectors.length, 0, queries[index]);
    for (const { metric, labels, values } of selectors) {
      const found = (series.get(metric) ?? []).filter((sample) => {
        const all: Record<string, string> = { ...ofTarget, ...sample.labels };
        return (
          labels.every((label) => label in all) &&
          // A value that a regular expression asks for may be one that has not come yet, and so may a status of HTTP.
          Object.entries(values).every(([label, value]) => label === 'code' || all[label] === value)
        );
      });
      assert.notEqual(found.length, 0, `${metric} ${labels} ${JSON.stringify(values)} in ${queries[index]}`);
    }
  }
});
