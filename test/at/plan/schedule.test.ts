import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DateTime } from 'luxon';
import { resolveSchedule } from '../../../src/at/plan/schedule.ts';
import { fc } from '../../fixtures/property.ts';

function instantOf(schedule: string, timeZone?: string): string {
  const instant = resolveSchedule(schedule, timeZone);
  assert.ok(typeof instant === 'number', `${schedule} ${timeZone ?? ''} is refused`);
  return new Date(instant).toISOString();
}

function reasonOf(schedule: string, timeZone?: string): string | undefined {
  const resolved = resolveSchedule(schedule, timeZone);
  return typeof resolved === 'number' ? undefined : resolved.reason;
}

describe('resolveSchedule', () => {
  const accepted = [
    { name: 'the sample of the book', schedule: '2019-04-12T10:12:00Z', is: '2019-04-12T10:12:00.000Z' },
    { name: 'an offset', schedule: '2030-01-31T09:00:00+02:00', is: '2030-01-31T07:00:00.000Z' },
    {
      name: 'an offset over midnight',
      schedule: '2030-01-31T23:00:00-05:30',
      is: '2030-02-01T04:30:00.000Z',
    },
    {
      name: 'the unknown offset of RFC 3339',
      schedule: '2030-01-31T09:00:00-00:00',
      is: '2030-01-31T09:00:00.000Z',
    },
    { name: 'a leap day', schedule: '2028-02-29T00:00:00Z', is: '2028-02-29T00:00:00.000Z' },
    { name: 'the leap day of 2000', schedule: '2000-02-29T00:00:00Z', is: '2000-02-29T00:00:00.000Z' },
    { name: 'milliseconds', schedule: '2030-01-01T00:00:00.25Z', is: '2030-01-01T00:00:00.250Z' },
    {
      name: 'a fraction finer than 1 ms, up',
      schedule: '2030-01-01T00:00:00.250000001Z',
      is: '2030-01-01T00:00:00.251Z',
    },
    {
      name: 'a fraction that rounds into the next second',
      schedule: '2030-12-31T23:59:59.9999Z',
      is: '2031-01-01T00:00:00.000Z',
    },
    { name: 'the first instant there is', schedule: '0001-01-01T00:00:00Z', is: '0001-01-01T00:00:00.000Z' },
    {
      name: 'the last instant there is',
      schedule: '9999-12-31T23:59:59.999999999Z',
      is: '9999-12-31T23:59:59.999Z',
    },
    {
      name: 'a local time',
      schedule: '2030-07-01T09:00:00',
      timeZone: 'Europe/Berlin',
      is: '2030-07-01T07:00:00.000Z',
    },
    {
      name: 'UTC as a zone',
      schedule: '2030-07-01T09:00:00',
      timeZone: 'UTC',
      is: '2030-07-01T09:00:00.000Z',
    },
    {
      name: 'a gap in Berlin, forward',
      schedule: '2030-03-31T02:30:00',
      timeZone: 'Europe/Berlin',
      is: '2030-03-31T01:30:00.000Z',
    },
    {
      name: 'an overlap in Berlin, first',
      schedule: '2030-10-27T02:30:00',
      timeZone: 'Europe/Berlin',
      is: '2030-10-27T00:30:00.000Z',
    },
    {
      name: 'a gap in New York, forward',
      schedule: '2030-03-10T02:30:00',
      timeZone: 'America/New_York',
      is: '2030-03-10T07:30:00.000Z',
    },
    {
      name: 'an overlap in New York, first',
      schedule: '2030-11-03T01:30:00',
      timeZone: 'America/New_York',
      is: '2030-11-03T05:30:00.000Z',
    },
    {
      name: 'a gap of half an hour',
      schedule: '2030-10-06T02:15:00',
      timeZone: 'Australia/Lord_Howe',
      is: '2030-10-05T15:45:00.000Z',
    },
    {
      name: 'an overlap of half an hour',
      schedule: '2030-04-07T01:45:00',
      timeZone: 'Australia/Lord_Howe',
      is: '2030-04-06T14:45:00.000Z',
    },
    {
      name: 'the day that Samoa left out',
      schedule: '2011-12-30T12:00:00',
      timeZone: 'Pacific/Apia',
      is: '2011-12-30T22:00:00.000Z',
    },
    {
      name: 'midnight that does not exist',
      schedule: '2018-11-04T00:00:00',
      timeZone: 'America/Sao_Paulo',
      is: '2018-11-04T03:00:00.000Z',
    },
  ];
  for (const { name, schedule, timeZone, is } of accepted) {
    it(`accepts ${name}`, () => assert.equal(instantOf(schedule, timeZone), is));
  }

  const invalidSchedules = [
    { name: 'the empty text', schedule: '' },
    { name: '30 February', schedule: '2030-02-30T00:00:00Z' },
    { name: '29 February of a common year', schedule: '2030-02-29T00:00:00Z' },
    { name: '29 February 1900', schedule: '1900-02-29T00:00:00Z' },
    { name: '31 April', schedule: '2030-04-31T00:00:00Z' },
    { name: 'month 00', schedule: '2030-00-01T00:00:00Z' },
    { name: 'month 13', schedule: '2030-13-01T00:00:00Z' },
    { name: 'day 00', schedule: '2030-01-00T00:00:00Z' },
    { name: 'hour 24', schedule: '2030-01-01T24:00:00Z' },
    { name: 'minute 60', schedule: '2030-01-01T00:60:00Z' },
    { name: 'a leap second', schedule: '2016-12-31T23:59:60Z' },
    { name: 'offset hour 24', schedule: '2030-01-01T00:00:00+24:00' },
    { name: 'offset minute 60', schedule: '2030-01-01T00:00:00+00:60' },
    { name: 'an offset without a colon', schedule: '2030-01-01T00:00:00+0200' },
    { name: 'no offset and no zone', schedule: '2030-01-01T00:00:00' },
    { name: 'a lower-case t', schedule: '2030-01-01t00:00:00Z' },
    { name: 'a lower-case z', schedule: '2030-01-01T00:00:00z' },
    { name: 'a space for T', schedule: '2030-01-01 00:00:00Z' },
    { name: 'no seconds', schedule: '2030-01-01T00:00Z' },
    { name: 'a comma', schedule: '2030-01-01T00:00:00,5Z' },
    { name: 'a point without digits', schedule: '2030-01-01T00:00:00.Z' },
    { name: 'ten digits', schedule: '2030-01-01T00:00:00.0123456789Z' },
    { name: 'year 0', schedule: '0000-01-01T00:00:00Z' },
    { name: 'year 10000', schedule: '10000-01-01T00:00:00Z' },
    { name: 'year 0 in UTC', schedule: '0001-01-01T00:30:00+01:00' },
    { name: 'year 10000 in UTC', schedule: '9999-12-31T23:30:00-01:00' },
    { name: 'year 0 in UTC by a zone', schedule: '0001-01-01T00:30:00', timeZone: 'Asia/Tokyo' },
    { name: 'year 10000 in UTC by a zone', schedule: '9999-12-31T23:30:00', timeZone: 'America/New_York' },
    {
      name: 'an offset together with a zone',
      schedule: '2030-01-01T00:00:00+01:00',
      timeZone: 'Europe/Berlin',
    },
    { name: 'Z together with a zone', schedule: '2030-01-01T00:00:00Z', timeZone: 'UTC' },
    { name: 'a trailing line end', schedule: '2030-01-01T00:00:00Z\n' },
    { name: 'a trailing NUL', schedule: '2030-01-01T00:00:00Z\0' },
    { name: 'a right-to-left mark', schedule: '2030-01-01T00:00:00Z\u200f' },
    { name: 'Arabic digits', schedule: '٢٠٣٠-01-01T00:00:00Z' },
    { name: 'words', schedule: 'tomorrow' },
  ];
  for (const { name, schedule, timeZone } of invalidSchedules) {
    it(`refuses ${name}`, () => {
      assert.equal(reasonOf(schedule, timeZone), 'InvalidSchedule');
    });
  }

  for (const timeZone of [
    'Mars/Olympus',
    '',
    '+02:00',
    'Local',
    'Europe/Berlin ',
    'x'.repeat(65),
    '../../etc',
  ]) {
    it(`refuses the zone ${JSON.stringify(timeZone)}`, () => {
      assert.equal(reasonOf('2030-01-01T00:00:00', timeZone), 'InvalidTimeZone');
    });
  }

  it('refuses a text of 1 MB at once', () => {
    assert.equal(reasonOf('2030-01-01T00:00:00Z'.padEnd(1_000_000, '0')), 'InvalidSchedule');
  });

  it('reads back every instant that can be written, whatever the offset', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(1, 0, 3) + 60_000_000_000_000, max: Date.UTC(9999, 11, 29) }),
        fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }),
        (instant, offset) => {
          const written = DateTime.fromMillis(instant).setZone(
            `UTC${offset < 0 ? '-' : '+'}${Math.floor(Math.abs(offset) / 60)}:${String(Math.abs(offset) % 60).padStart(2, '0')}`,
          );
          const schedule = written.toFormat("yyyy-MM-dd'T'HH:mm:ss.SSSZZ");
          assert.deepEqual(resolveSchedule(schedule), instant);
        },
      ),
    );
  });

  it('gives in every zone an instant of that wall time, the first, or one moved forward', () => {
    const zones = [
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Africa/Casablanca',
      'America/St_Johns',
      'Pacific/Apia',
      'UTC',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(1970, 0, 1) / 60_000, max: Date.UTC(2090, 0, 1) / 60_000 }),
        (timeZone, minutes) => {
          const schedule = new Date(minutes * 60_000).toISOString().slice(0, 19);
          const resolved = resolveSchedule(schedule, timeZone);
          assert.ok(typeof resolved === 'number');
          const wall = (instant: number) =>
            DateTime.fromMillis(instant, { zone: timeZone }).toFormat("yyyy-MM-dd'T'HH:mm:ss");
          assert.ok(wall(resolved) >= schedule, 'never an earlier wall time');
          if (wall(resolved) === schedule) {
            for (const earlier of [30, 60, 120]) {
              assert.notEqual(wall(resolved - earlier * 60_000), schedule, 'the first of two');
            }
          } else {
            const forward = Date.parse(`${wall(resolved)}Z`) - minutes * 60_000;
            assert.ok(forward <= 24 * 3_600_000, 'moved by the gap only');
            assert.ok(wall(resolved - forward) < schedule, 'the wall time does not exist');
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
