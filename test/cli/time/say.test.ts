import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sayLocal, sayOffset, sayWhen } from '../../../src/cli/time/local.ts';
import { parseLength, parseSpan, saySpan } from '../../../src/cli/time/span.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

describe('a length of time', () => {
  const rows: readonly (readonly [ms: number, text: string])[] = [
    [0, '0s'],
    [999, '0s'],
    [45_000, '45s'],
    [10 * minute, '10m'],
    [9 * minute + 48_000, '9m48s'],
    [59 * minute + 59_000, '59m'],
    [3 * hour + 20 * minute + 5000, '3h20m'],
    [11 * hour + 5 * minute, '11h'],
    [day + minute, '1d'],
    [2 * day + 4 * hour, '2d4h'],
    [400 * day + hour, '400d'],
  ];
  for (const [ms, text] of rows) it(`reads ${text}`, () => assert.equal(saySpan(ms), text));

  it('is understood in the units that people type', () => {
    assert.equal(parseLength('7d'), 7 * day);
    assert.equal(parseLength('1 week 2 days'), 9 * day);
    assert.equal(parseLength('90s'), 90_000);
    assert.equal(parseLength('1h30m'), 90 * minute);
    assert.deepEqual(parseSpan('1y 2 months'), { months: 14, days: 0, ms: 0 });
  });

  for (const text of ['', '7', 'd', '7 dogs', '-1d', '1.5h', '1h and 2m', '9999999s']) {
    it(`is not "${text}"`, () => assert.equal(parseSpan(text), undefined));
  }

  it('has no fixed length with months in it', () => assert.equal(parseLength('1 month'), undefined));
});

describe('an instant', () => {
  /** A Sunday, 10:12 in Berlin. */
  const now = Date.UTC(2026, 10, 22, 9, 12);
  const zone = 'Europe/Berlin';
  const rows: readonly (readonly [ahead: number, text: string])[] = [
    [0, 'now'],
    [9 * minute + 48_000, 'in 9m48s'],
    [-3 * minute, '3m ago'],
    [11 * hour, 'in 11h'],
    [13 * hour, 'today 23:12'],
    [14 * hour, 'tomorrow 00:12'],
    [-13 * hour, 'yesterday 21:12'],
    [2 * day, 'Tue 10:12'],
    [-6 * day, 'Mon 10:12'],
    [9 * day, '1 Dec 2026 10:12'],
  ];
  for (const [ahead, text] of rows) {
    it(`reads ${text}`, () => assert.equal(sayWhen(now + ahead, { now, zone }), text));
  }

  it('is shown in full with the offset of that day', () => {
    assert.equal(sayLocal(now), 'Sun 22 Nov 2026 09:12:00');
    assert.equal(sayOffset(now, zone), '+01:00');
    assert.equal(sayOffset(Date.UTC(2026, 6, 1), zone), '+02:00');
    assert.equal(sayOffset(now, 'America/St_Johns'), '-03:30');
  });
});
