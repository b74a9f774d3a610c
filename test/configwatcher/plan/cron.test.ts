import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Cron } from 'croner';
import { DateTime } from 'luxon';
import { lastInstant, nextInstant, parseCron } from '../../../src/configwatcher/plan/cron.ts';
import { nextOpening, readWindow, type Window } from '../../../src/configwatcher/plan/window.ts';

function at(text: string): number {
  return DateTime.fromISO(text, { zone: 'utc' }).toMillis();
}

function cronOf(text: string, zone = 'UTC'): Cron {
  return parseCron(text, zone) ?? assert.fail(`${text} is no schedule`);
}

function iso(time: number | undefined): string | undefined {
  return time === undefined
    ? undefined
    : (DateTime.fromMillis(time, { zone: 'utc' }).toISO({ suppressMilliseconds: true }) ?? '');
}

describe('parseCron', () => {
  const bad = [
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '5-3 * * * *',
    '*/0 * * * *',
    '1-2-3 * * * *',
    '1/2/3 * * * *',
    'a * * * *',
    '1, * * * *',
    '-1 * * * *',
    '@daily',
    '* * L * *',
    '* * * * FRI#2',
    '* * ? * *',
    '* * 15W * *',
  ];
  for (const text of bad) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseCron(text, 'UTC'), undefined));
  }
});

describe('nextInstant', () => {
  const rows: [cron: string, zone: string, after: string, expected: string | undefined][] = [
    ['* * * * *', 'UTC', '2024-06-01T12:00:00', '2024-06-01T12:01:00Z'],
    ['*/15 * * * *', 'UTC', '2024-06-01T12:16:00', '2024-06-01T12:30:00Z'],
    ['5/20 * * * *', 'UTC', '2024-06-01T12:06:00', '2024-06-01T12:25:00Z'],
    ['0 3 * * MON-FRI', 'UTC', '2024-06-01T12:00:00', '2024-06-03T03:00:00Z'],
    ['0 3 * * 7', 'UTC', '2024-06-01T12:00:00', '2024-06-02T03:00:00Z'],
    ['0 3 * * 0', 'UTC', '2024-06-01T12:00:00', '2024-06-02T03:00:00Z'],
    ['0 0 1,15 jan-mar *', 'UTC', '2024-06-01T12:00:00', '2025-01-01T00:00:00Z'],
    ['0 0 29 2 *', 'UTC', '2024-03-01T00:00:00', '2028-02-29T00:00:00Z'],
    ['0 0 30 2 *', 'UTC', '2024-03-01T00:00:00', undefined],
    // Both days restricted: either suffices.
    ['0 0 13 * FRI', 'UTC', '2024-06-01T12:00:00', '2024-06-07T00:00:00Z'],
    // A step restricts a day, as in CronJob.
    ['0 0 */2 * FRI', 'UTC', '2024-06-01T12:00:00', '2024-06-03T00:00:00Z'],
    ['0 0 30 2 MON', 'UTC', '2024-06-01T12:00:00', '2025-02-03T00:00:00Z'],
    ['10/20,3 4/7 * * *', 'UTC', '2024-06-01T11:31:00', '2024-06-01T11:50:00Z'],
    ['0 0 * * 5/1', 'UTC', '2024-06-01T12:00:00', '2024-06-02T00:00:00Z'],
    ['0 9 * * *', 'Europe/Berlin', '2024-06-01T12:00:00', '2024-06-02T07:00:00Z'],
    // 02:30 does not exist on that day: it is the end of the gap.
    ['30 2 31 3 *', 'Europe/Berlin', '2024-03-30T12:00:00', '2024-03-31T01:00:00Z'],
    // 02:30 happens twice on that day: the first counts.
    ['30 2 27 10 *', 'Europe/Berlin', '2024-10-26T12:00:00', '2024-10-27T00:30:00Z'],
  ];
  for (const [cron, zone, after, expected] of rows) {
    it(`of ${cron} in ${zone} after ${after} is ${expected}`, () => {
      assert.equal(iso(nextInstant(cronOf(cron, zone), at(after))), expected);
    });
  }

  it('and lastInstant are two sides of the same', () => {
    const schedule = cronOf('7,37 */5 * * 1-5', 'America/New_York');
    let time = at('2024-06-01T00:00:00');
    for (let count = 0; count < 50; count++) {
      const next: number = nextInstant(schedule, time)!;
      assert.equal(lastInstant(schedule, next), next);
      assert.equal(lastInstant(schedule, next + 59_999), next);
      if (count > 0) assert.equal(lastInstant(schedule, next - 1), time);
      time = next;
    }
  });
});

describe('a window', () => {
  function window(schedule: string, duration: string, timeZone?: string): Window {
    const read = readWindow({ schedule, duration, ...(timeZone && { timeZone }) });
    assert.ok(typeof read !== 'string', String(read));
    return read;
  }

  const night = window('0 22 * * *', '8h');

  it('is open from its start to just before its end, over midnight too', () => {
    assert.equal(iso(nextOpening([night], at('2024-06-01T21:59:59'))), '2024-06-01T22:00:00Z');
    for (const inside of ['2024-06-01T22:00:00', '2024-06-02T00:00:00', '2024-06-02T05:59:59']) {
      assert.equal(nextOpening([night], at(inside)), undefined, inside);
    }
    assert.equal(iso(nextOpening([night], at('2024-06-02T06:00:00'))), '2024-06-02T22:00:00Z');
  });

  it('that is longer than its period never closes', () => {
    assert.equal(nextOpening([window('0 0 * * *', '30h')], at('2024-06-02T23:00:00')), undefined);
  });

  it('that opens four times an hour for as long is open in both passes of the hour that happens twice', () => {
    const always = window('*/15 * * * *', '15m', 'Europe/Berlin');
    for (const inside of ['2024-10-27T00:59:00', '2024-10-27T01:01:00', '2024-10-27T01:59:59']) {
      assert.equal(nextOpening([always], at(inside)), undefined, inside);
    }
  });

  it('that never comes, or of no zone, is none', () => {
    for (const schedule of ['0 0 30 2 *', '0 0 30,31 2 *', '0 0 31 4,6,9,11 *']) {
      assert.match(String(readWindow({ schedule, duration: '1h' })), /never comes/);
    }
    assert.equal(typeof readWindow({ schedule: '0 0 29 2 *', duration: '1h' }), 'object');
    const nowhere = { schedule: '0 0 * * *', duration: '1h', timeZone: 'Nowhere/Land' };
    assert.match(String(readWindow(nowhere)), /not a known time zone/);
  });

  it('of several the first to open counts; none at all is always open', () => {
    const noon = window('0 12 * * *', '1h');
    assert.equal(iso(nextOpening([night, noon], at('2024-06-02T06:00:00'))), '2024-06-02T12:00:00Z');
    assert.equal(nextOpening([], at('2024-06-02T06:00:00')), undefined);
  });

  it('of a week ago may still be open', () => {
    const long = window('0 0 1 * *', '240h');
    assert.equal(nextOpening([long], at('2024-06-10T23:59:00')), undefined);
    assert.equal(iso(nextOpening([long], at('2024-06-11T00:00:00'))), '2024-07-01T00:00:00Z');
  });
});
