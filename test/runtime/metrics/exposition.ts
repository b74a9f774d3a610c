/**
 * Exposition: a strict reader of Prometheus' text format 0.0.4. What Prometheus itself would let pass with a
 * shrug (a family in two pieces, a histogram that does not add up) is an error here.
 */
import assert from 'node:assert/strict';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const types = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

/** Reads a whole scrape. @throws {AssertionError} that names the line. */
export function parseExposition(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the text must end with a line feed');
  const families = new Map<string, Family>();
  let current: Family | undefined;
  let help: { name: string; text: string } | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (line.startsWith('# HELP ')) {
      const [, name = '', words = ''] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
      assert.match(name, metricName, line);
      help = { name, text: words };
    } else if (line.startsWith('# TYPE ')) {
      const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
      assert.ok(types.includes(type), line);
      assert.equal(help?.name, name, `TYPE without its HELP: ${line}`);
      assert.ok(help && help.text.length > 0, `no help: ${line}`);
      assert.ok(!families.has(name), `a family in two pieces: ${line}`);
      current = { name, type, help: help.text, samples: [] };
      families.set(name, current);
    } else {
      assert.ok(!line.startsWith('#'), `unknown comment: ${line}`);
      assert.ok(current, `a sample before any TYPE: ${line}`);
      current.samples.push(parseSample(line, current));
    }
  }
  for (const family of families.values()) checkFamily(family);
  return families;
}

/** The value of one sample; undefined when there is none with exactly these labels. */
export function sampleOf(
  families: Map<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = idOf({ name, labels });
  for (const family of families.values()) {
    const sample = family.samples.find((candidate) => idOf(candidate) === wanted);
    if (sample) return sample.value;
  }
  return undefined;
}

function parseSample(line: string, family: Family): Sample {
  const [, name = '', , labelText = '', valueText = ''] =
    /^([^\s{]+)(\{(.*)\})? (\S+)$/.exec(line) ?? assert.fail(`no sample: ${line}`);
  assert.match(name, metricName, line);
  const suffixes = { histogram: ['_bucket', '_sum', '_count'], summary: ['', '_sum', '_count'] };
  const allowed = suffixes[family.type as keyof typeof suffixes] ?? [''];
  assert.ok(
    allowed.some((suffix) => name === family.name + suffix),
    `${line} is not of ${family.name}`,
  );
  assert.match(valueText, /^([+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]Inf|NaN)$/i, line);
  const value = Number(valueText.replace('Inf', 'Infinity'));
  return { name, labels: parseLabels(labelText, line), value };
}

function parseLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const match = /^([^=,]+)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest);
    assert.ok(match, `bad labels: ${line}`);
    const [whole, name = '', escaped = ''] = match;
    assert.match(name, labelName, line);
    assert.ok(!(name in labels), `label twice: ${line}`);
    labels[name] = escaped.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
    rest = rest.slice(whole.length);
  }
  return labels;
}

function checkFamily({ name, type, samples }: Family): void {
  const ids = new Set(samples.map(idOf));
  assert.equal(ids.size, samples.length, `${name}: the same series twice`);
  if (type === 'counter') {
    assert.ok(
      samples.every(({ value }) => value >= 0),
      `${name}: a counter below 0`,
    );
  }
  if (type === 'histogram') checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const buckets = Map.groupBy(
    samples.filter((sample) => sample.name === `${name}_bucket`),
    ({ labels: { le: _, ...labels } }) => idOf({ name, labels }),
  );
  for (const [series, rows] of buckets) {
    const bounds = rows.map(({ labels }) => Number(labels.le?.replace('Inf', 'Infinity')));
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
      `${series}: bounds in order`,
    );
    assert.equal(bounds.at(-1), Infinity, `${series}: no +Inf bucket`);
    const counts = rows.map(({ value }) => value);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      `${series}: buckets are cumulative`,
    );
    const count = samples.find(
      (sample) => sample.name === `${name}_count` && idOf({ ...sample, name }) === series,
    );
    assert.equal(count?.value, counts.at(-1), `${series}: +Inf is not the count`);
  }
}

function idOf({ name, labels }: Pick<Sample, 'name' | 'labels'>): string {
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${name}${JSON.stringify(pairs)}`;
}
