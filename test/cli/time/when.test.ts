import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveSchedule } from '../../../src/at/plan/schedule.ts';
import { readWhen, type When } from '../../../src/cli/time/when.ts';
import { formatTime } from '../../../src/kubernetes/time.ts';
import { fc } from '../../fixtures/property.ts';

/** A Sunday, 10:12:30 in Berlin. */
const now = Date.UTC(2026, 10, 22, 9, 12, 30, 250);

function when(text: string, zone = 'Europe/Berlin'): When {
  const read = readWhen(text, { now, zone });
  return read.ok ? read : assert.fail(`${text}: ${read.message}`);
}

function refusal(text: string, zone = 'Europe/Berlin'): string {
  const read = readWhen(text, { now, zone });
  return read.ok ? assert.fail(`${text} means ${read.schedule}`) : read.message;
}

describe('a time from now', () => {
  const rows: readonly (readonly [text: string, utc: string])[] = [
    ['now', '2026-11-22T09:12:30Z'],
    ['now+10m', '2026-11-22T09:22:31Z'],
    ['now + 2 hours', '2026-11-22T11:12:31Z'],
    ['NOW + 1 Hour 30 Minutes', '2026-11-22T10:42:31Z'],
    ['now+1h30m', '2026-11-22T10:42:31Z'],
    ['+90s', '2026-11-22T09:14:01Z'],
    ['in 10 minutes', '2026-11-22T09:22:31Z'],
    ['now + 1 day', '2026-11-23T09:12:31Z'],
    ['now + 2 weeks', '2026-12-06T09:12:31Z'],
    ['now + 1 month', '2026-12-22T09:12:31Z'],
    // At the same time of day, although the clocks have gone forward by then.
    ['now + 6 months', '2027-05-22T08:12:31Z'],
  ];
  for (const [text, utc] of rows) {
    it(text, () => {
      const { schedule, timeZone, instant } = when(text);
      assert.deepEqual([schedule, timeZone], [utc, undefined]);
      assert.equal(formatTime(instant), utc);
    });
  }

  it('of a long month that ends later than the next one is the last day of that', () => {
    const read = readWhen('now + 3 months', { now: Date.UTC(2026, 10, 30, 9), zone: 'UTC' });
    assert.equal(read.ok && read.schedule, '2027-02-28T09:00:00Z');
  });
});

describe('a time of day', () => {
  const rows: readonly (readonly [text: string, local: string])[] = [
    ['11:00', '2026-11-22T11:00:00'],
    ['9:00', '2026-11-23T09:00:00'],
    ['0900', '2026-11-23T09:00:00'],
    ['9am', '2026-11-23T09:00:00'],
    ['9 pm', '2026-11-22T21:00:00'],
    ['12am', '2026-11-23T00:00:00'],
    ['12:15:30pm', '2026-11-22T12:15:30'],
    ['noon', '2026-11-22T12:00:00'],
    ['midnight', '2026-11-23T00:00:00'],
    ['teatime', '2026-11-22T16:00:00'],
    ['teatime + 3 days', '2026-11-25T16:00:00'],
    ['today 11:00', '2026-11-22T11:00:00'],
    ['tomorrow 9:00', '2026-11-23T09:00:00'],
    ['9:00 tomorrow', '2026-11-23T09:00:00'],
    ['tomorrow at noon', '2026-11-23T12:00:00'],
    ['mon 18:30', '2026-11-23T18:30:00'],
    ['18:30 on Saturday', '2026-11-28T18:30:00'],
    ['sunday 11:00', '2026-11-22T11:00:00'],
    ['sunday 9:00', '2026-11-29T09:00:00'],
    ['2026-12-01 09:00', '2026-12-01T09:00:00'],
    ['2026-12-01 9:00', '2026-12-01T09:00:00'],
    ['2026-12-01T09:00', '2026-12-01T09:00:00'],
    ['9:00 2026-12-01', '2026-12-01T09:00:00'],
    ['01.12.2026 9:00', '2026-12-01T09:00:00'],
    ['12/01/2026 9:00', '2026-12-01T09:00:00'],
    ['dec 1 9am', '2026-12-01T09:00:00'],
    ['1 December 2027, 9:00', '2027-12-01T09:00:00'],
    ['9am Feb 2', '2027-02-02T09:00:00'],
    ['29 feb noon', '2028-02-29T12:00:00'],
    ['Tue 1 Dec 2026 09:00:00', '2026-12-01T09:00:00'],
  ];
  for (const [text, local] of rows) {
    it(text, () => {
      const { schedule, timeZone } = when(text);
      assert.deepEqual([schedule, timeZone], [local, 'Europe/Berlin']);
    });
  }

  it('is in UTC when that is the zone, or is said', () => {
    assert.deepEqual(
      [when('9:00', 'utc').schedule, when('9:00', 'utc').timeZone],
      ['2026-11-23T09:00:00Z', undefined],
    );
    assert.equal(when('noon utc').schedule, '2026-11-22T12:00:00Z');
  });

  it('is in a zone under its own name, which the API server looks up by case', () => {
    assert.equal(when('9:00', 'europe/BERLIN').timeZone, 'Europe/Berlin');
  });

  it('with hours added is an instant', () => {
    assert.equal(when('9:00 + 90 minutes').schedule, '2026-11-23T09:30:00Z');
  });
});

describe('RFC 3339', () => {
  it('is taken as it is', () => {
    assert.equal(when('2026-12-01T09:00:00Z').schedule, '2026-12-01T09:00:00Z');
    assert.equal(when('2026-12-01T09:00:00.5-05:00').instant, Date.UTC(2026, 11, 1, 14, 0, 0, 500));
    assert.equal(when('2026-12-01 09:00Z').schedule, '2026-12-01T09:00:00Z');
    assert.equal(when('2026-12-01T09:00:00Z').timeZone, undefined);
  });
});

describe('a change of the clocks', () => {
  it('moves what they skip, and says so', () => {
    const { instant, note } = when('2027-03-28 02:30');
    assert.equal(formatTime(instant), '2027-03-28T01:30:00Z');
    assert.equal(note, '02:30 is skipped by the clocks that day in Europe/Berlin: it runs at 03:30');
  });

  it('says which of two equal times is meant', () => {
    const { instant, note } = when('2027-10-31 02:30');
    assert.equal(formatTime(instant), '2027-10-31T00:30:00Z');
    assert.equal(note, '02:30 happens twice that day in Europe/Berlin: it runs the first time');
  });

  it('is no matter an hour later', () => {
    for (const text of ['2027-03-28 03:30', '2027-10-31 03:30', '2027-10-31 01:30', '2027-07-01 02:30']) {
      assert.equal(when(text).note, undefined, text);
    }
  });
});

describe('a time that is refused', () => {
  const misunderstood = [
    '10m',
    '9',
    '25:00',
    '24:00',
    '9:60',
    '13pm',
    '0am',
    'soon',
    'now 9:00',
    'now tomorrow',
    'next monday 9:00',
    'tomorrow today 9:00',
    '9:00 10:00',
    'noon 9:00',
    'tomorrow monday 9:00',
    'now + 10',
    'now + m',
    'now+1.5h',
    'now - 1h',
    '9:00 + ',
    'in',
    'in soon',
    'tomorrow + 1 day 9:00',
    '9:00 CET',
    '01.12.26 9:00',
    '2026-12-1 9:00',
    'dec 9:00',
    'now + 10 parsecs',
    '2026-12-01T09:00:00+0100',
  ];
  for (const text of misunderstood) {
    it(text, () =>
      assert.match(refusal(text), /^".+" is not understood as a time: say now\+10m, "tomorrow 9:00", noon, /),
    );
  }

  const rows: readonly (readonly [text: string, message: RegExp])[] = [
    ['', /^the time is missing: say now\+10m/],
    ['tomorrow', /^"tomorrow" names no time of day: say/],
    ['2026-12-01', /^"2026-12-01" names no time of day: say/],
    ['2026-02-30 9:00', /^that day does not exist in the calendar: say/],
    ['31 nov noon', /^that day does not exist in the calendar: say/],
    ['2026-02-30 09:00', /^"2026-02-30 09:00:00" names a day that does not exist/],
    ['2026-12-01 25:00', /must be an RFC 3339 timestamp/],
    ['mon 1 Dec 2026 9:00', /^1 Dec 2026 is a Tue: say/],
    [
      'today 9:00',
      /^Sun 22 Nov 2026 09:00:00 \(Europe\/Berlin\) has passed, 1h12m ago: say now to run it at once$/,
    ],
    ['2020-01-01T00:00:00Z', /has passed, 2517d ago: say now/],
    ['now + 9000 years', /after the year 9999/],
    ['noon + 900000 years', /after the year 9999/],
    ['9999-12-31 23:59 + 999999 hours', /after the year 9999/],
  ];
  for (const [text, message] of rows) it(text || 'nothing', () => assert.match(refusal(text), message));

  for (const zone of ['Mars/Olympus', '+02:00', 'Local', 'Berlin']) {
    it(`in the zone ${zone}`, () =>
      assert.equal(
        refusal('9:00', zone),
        `"${zone}" is no time zone: say the name of one, such as Europe/Berlin or UTC`,
      ));
  }
});

it('whatever is typed, what is understood is a schedule of that very instant', () => {
  const word = fc.constantFrom(
    ...[
      'now',
      '+',
      '10m',
      '2',
      'hours',
      'tomorrow',
      '9:00',
      'noon',
      '9am',
      'mon',
      '2026-12-01',
      'dec',
      '1',
      'utc',
    ],
    ...['2027', '02:30', '2027-03-28', 'in', 'T', '31', '2028-02-29T23:59:59.999999999+14:00', '0900'],
  );
  const texts = fc.array(word, { maxLength: 5 }).map((words) => words.join(' '));
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Pacific/Apia',
  );
  fc.assert(
    fc.property(texts, zones, fc.integer({ min: 0, max: 4e12 }), (text, zone, at) => {
      const read = readWhen(text, { now: at, zone });
      if (!read.ok) return read.message.length > 10;
      const instant = resolveSchedule(read.schedule, read.timeZone);
      return instant === read.instant && (read.instant > at || text.trim() === 'now');
    }),
    { numRuns: 3000 },
  );
});
