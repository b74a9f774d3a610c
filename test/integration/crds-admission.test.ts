import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { validateAt } from '../../src/schema/validate.ts';
import { atRows, baseAtSpec, type Row } from '../api/at-rows.ts';
import { baseConfigWatcherSpec, configWatcherRows } from '../api/configwatcher-rows.ts';
import { fc } from '../fixtures/property.ts';
import { installCrds, refusal, refusals } from './admission.ts';

const at = { apiVersion: 'cnat.programming-kubernetes.info/v1alpha1', kind: 'At' };
const configWatcher = { apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher' };
const create = ['create', '--dry-run=server', '--filename=-'];

before(installCrds);

const kinds: readonly { type: typeof at; base: object; rows: readonly Row[] }[] = [
  { type: at, base: baseAtSpec, rows: atRows },
  { type: configWatcher, base: baseConfigWatcherSpec, rows: configWatcherRows },
];

for (const { type, base, rows } of kinds) {
  describe(`the API server on a ${type.kind}`, () => {
    let verdicts: ReadonlyMap<string, string>;
    before(async () => {
      verdicts = await refusals(
        rows.map(({ spec }, index) => ({
          ...type,
          metadata: { name: `row-${index}` },
          spec: { ...base, ...spec },
        })),
      );
    });
    for (const [index, { it: title, refused }] of rows.entries()) {
      it(title, () => {
        const verdict = verdicts.get(`row-${index}`);
        if (refused === undefined) {
          assert.equal(verdict, undefined);
        } else {
          // Of a list with a duplicate the API server names the item.
          const place = [`${refused.field}: `, `${refused.field}[`];
          assert.ok(
            place.some((text) => verdict?.includes(text)),
            verdict,
          );
          assert.ok(verdict?.includes(refused.says), verdict);
        }
      });
    }
  });
}

describe('the API server', () => {
  for (const type of [at, configWatcher]) {
    it(`refuses an object of kind ${type.kind} without spec`, async () => {
      const verdict = await refusal([...create, '--validate=false'], {
        ...type,
        metadata: { name: 'empty' },
      });
      assert.match(verdict, /\bspec: Required value/);
    });
  }
});

describe('a schedule', () => {
  it('gets the same verdict from the API server and from our own validation', async () => {
    const schedules = [...new Set(fc.sample(almostSchedule(), { seed: 1, numRuns: 300 }))];
    const atOf = (schedule: string, index: number) => ({
      ...at,
      metadata: { name: `sample-${index}` },
      spec: { ...baseAtSpec, schedule },
    });
    const refused = await refusals(schedules.map(atOf));
    const differing = schedules.filter(
      (schedule, index) =>
        refused.has(`sample-${index}`) !== validateAt(atOf(schedule, index)).problems.length > 0,
    );
    assert.deepEqual(differing, []);
    assert.ok(refused.size > 30 && refused.size < schedules.length - 30, 'the samples are of both sorts');
  });

  it('of 1 MB is refused in few words', async () => {
    const huge = {
      ...at,
      metadata: { name: 'huge' },
      spec: { ...baseAtSpec, schedule: '2'.repeat(1 << 20) },
    };
    const verdict = await refusal(create, huge);
    assert.match(verdict, /spec\.schedule: Too long: may not be (more|longer) than 64/);
    assert.ok(verdict.length < 400, `${verdict.length} characters`);
  });
});

describe('the name of an At', () => {
  const named = (name: string) => ({ ...at, metadata: { name }, spec: baseAtSpec });
  it('may have 63 characters', async () => {
    assert.equal((await refusals([named('x'.repeat(63))])).size, 0);
  });
  it('may not have 64', async () => {
    assert.match(
      await refusal(create, named('x'.repeat(64))),
      /metadata\.name must not be longer than 63 characters, because/,
    );
  });
});

describe('a misspelt field', () => {
  it('is named', async () => {
    const misspelt = { ...at, metadata: { name: 'x' }, spec: { ...baseAtSpec, shedule: 'x' } };
    assert.match(await refusal(create, misspelt), /unknown field "spec\.shedule"/);
  });
});

/** Of older API servers' values only the kind is told, such as "string". */
const withoutValue = (verdict: string) =>
  verdict.replace(/Invalid value: ("[^"]*"|\d+): /, 'Invalid value: ');

describe('config/samples', () => {
  for (const file of readdirSync('config/samples').filter((name) => name.endsWith('-invalid.yaml'))) {
    it(`${file} is refused as it says`, async () => {
      const text = await readFile(`config/samples/${file}`, 'utf8');
      const promised = /^# Refused: (.+)$/m.exec(text)?.[1];
      const verdict = await refusal(create, text);
      assert.ok(promised && withoutValue(verdict).includes(withoutValue(promised)), verdict);
    });
  }
});

/** Timestamps with parts from just inside and just outside their ranges. */
function almostSchedule(): fc.Arbitrary<string> {
  const two = (values: readonly number[]) =>
    fc.constantFrom(...values).map((value) => String(value).padStart(2, '0'));
  const year = fc.oneof(
    fc.constantFrom('0000', '0001', '1900', '2000', '2024', '2100', '9999'),
    fc.integer({ min: 1, max: 9999 }).map((value) => String(value).padStart(4, '0')),
  );
  const offset = fc.oneof(
    { weight: 2, arbitrary: fc.constant('Z') },
    fc
      .tuple(fc.constantFrom('+', '-'), two([0, 1, 12, 23, 24]), two([0, 30, 59, 60]))
      .map(([sign, hour, minute]) => `${sign}${hour}:${minute}`),
  );
  const fraction = fc.oneof({ weight: 3, arbitrary: fc.constant('') }, fc.stringMatching(/^\.[0-9]{0,10}$/));
  return fc
    .record({
      year,
      month: two([1, 2, 2, 4, 6, 9, 11, 12, 12, 13]),
      day: two([1, 1, 28, 29, 30, 31, 31]),
      hour: two([0, 0, 1, 12, 23, 23, 23]),
      minute: two([0, 0, 30, 59, 59, 59]),
      second: two([0, 0, 30, 59, 59, 59, 60]),
      fraction,
      offset,
    })
    .map((t) => `${t.year}-${t.month}-${t.day}T${t.hour}:${t.minute}:${t.second}${t.fraction}${t.offset}`);
}
