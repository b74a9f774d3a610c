/** docs/images/dashboard.svg is drawn from what was recorded, with the panels that the dashboard has. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { draw } from '../../hack/dashboard/draw.ts';
import {
  type Dashboard,
  queryOf,
  type Recording,
  seriesOf,
  valuesOf,
} from '../../hack/dashboard/recording.ts';
import { formatValue, niceMaximum } from '../../hack/dashboard/units.ts';

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));
const dashboard: Dashboard = await json('config/prometheus/dashboard.json');

it('the picture of the dashboard shows the recorded run', async () => {
  const recording: Recording = await json('docs/images/dashboard.json');
  const picture = await readFile('docs/images/dashboard.svg', 'utf8');
  assert.equal(picture, draw(dashboard, recording), 'run make dashboard-picture');
});

it('each panel with a query was recorded, and most of them had an answer', async () => {
  const recording: Recording = await json('docs/images/dashboard.json');
  const asked = dashboard.panels.filter(({ targets = [] }) => targets.length > 0).map(({ id }) => `${id}`);
  assert.deepEqual(Object.keys(recording.panels).sort(), asked.sort());
  const answered = asked.filter((id) =>
    recording.panels[id]?.some((series) => valuesOf(series).some((value) => value !== undefined)),
  );
  assert.ok(answered.length > asked.length * 0.9, `${answered.length} of ${asked.length}`);
});

it('a query is asked as Grafana asks it, and its answer has a value or a gap at each step', () => {
  const expr = 'rate(x{namespace=~"$namespace"}[$__rate_interval])';
  assert.equal(queryOf(expr, '8s'), 'rate(x{namespace=~".*"}[8s])');
  const matrix = {
    metric: { phase: 'DONE' },
    values: [
      [10, '1.23456'],
      [16, 'NaN'],
    ],
  } as const;
  const series = seriesOf(matrix, '{{phase}} {{other}}', [10, 13, 16]);
  assert.deepEqual(series, { name: 'DONE', values: '1.23 - -' });
  assert.deepEqual(valuesOf(series), [1.23, undefined, undefined]);
});

it('numbers have their units, and axes end at a round number', () => {
  const shown = [
    [0.0042, 's'],
    [90, 's'],
    [0, 's'],
    [3 * 2 ** 20, 'bytes'],
    [1500, 'short'],
    [0.5, 'reqps'],
  ] as const;
  assert.deepEqual(
    shown.map(([value, unit]) => formatValue(value, unit)),
    ['4.2 ms', '1.5 min', '0 s', '3 MiB', '1.5 K', '0.5 req/s'],
  );
  assert.deepEqual([0, 0.3, 1, 7, 12, 70].map(niceMaximum), [1, 0.5, 1, 10, 20, 100]);
});
