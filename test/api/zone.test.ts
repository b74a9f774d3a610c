import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DateTime } from 'luxon';
import { instantsIn, type TimeZone, timeZoneNamed } from '../../src/api/zone.ts';
import { fc } from '../fixtures/property.ts';

function zoneOf(name: string): TimeZone {
  return timeZoneNamed(name) ?? assert.fail(`${name} is no zone`);
}

const hour = 3_600_000;

describe('a time zone', () => {
  it('may be written in any case, and by an old name', () => {
    const summer = Date.UTC(2030, 6, 1);
    for (const name of ['Europe/Berlin', 'europe/BERLIN', 'Arctic/Longyearbyen']) {
      assert.equal(zoneOf(name).offset(summer), 2 * hour, name);
    }
    assert.equal(zoneOf('Asia/Calcutta').offset(summer), 5.5 * hour);
    assert.equal(zoneOf('utc').offset(summer), 0);
  });

  for (const name of ['', 'Mars/Olympus', '+02:00', 'Local', 'Europe/Berlin ', '../etc', 5, null, {}]) {
    it(`is not called ${JSON.stringify(name)}`, () => assert.equal(timeZoneNamed(name), undefined));
  }

  it('is looked up once, in however many ways it is written', (t) => {
    const original = Intl.DateTimeFormat;
    const lookUps: unknown[] = [];
    t.mock.property(
      Intl,
      'DateTimeFormat',
      new Proxy(original, {
        construct(target, [locale, options]) {
          if (options?.year !== undefined) lookUps.push(options.timeZone);
          return new target(locale, options);
        },
      }),
    );
    const name = 'America/Argentina/Catamarca';
    for (let index = 0; index < 2000; index++) {
      const spelling = [...name].map((letter, at) =>
        (index >> (at % 11)) & 1 ? letter.toUpperCase() : letter,
      );
      assert.equal(zoneOf(spelling.join('')).offset(0), -3 * hour);
    }
    assert.equal(new Set(lookUps).size, 1);
    assert.ok(lookUps.length <= 1, `${lookUps.length} formatters are kept`);
  });
});

describe('instantsIn', () => {
  const zones = [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Asia/Tokyo',
  ];

  it('gives the first instant at which the clock shows that time, or one moved forward', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(2015, 0) / 60_000, max: Date.UTC(2035, 0) / 60_000 }),
        fc.integer({ min: 0, max: 24 * 60 }),
        (name, minutes, earlier) => {
          const local = minutes * 60_000;
          const from = local - earlier * 60_000;
          const instant = instantsIn(zoneOf(name), from, from + 24 * hour)(local);
          const { year, month, day, hour: hours, minute } = DateTime.fromMillis(local, { zone: 'utc' });
          // What luxon makes of a time that does not exist is moved forward, too.
          const expected = DateTime.fromObject({ year, month, day, hour: hours, minute }, { zone: name });
          const all = expected.getPossibleOffsets().map((one) => one.toMillis());
          assert.equal(instant, Math.min(...all));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('asks for few offsets, also on the days of a clock change', () => {
    let asked = 0;
    const berlin = zoneOf('Europe/Berlin');
    const counting: TimeZone = {
      offset(instant) {
        asked++;
        return berlin.offset(instant);
      },
    };
    for (const midnight of [Date.UTC(2030, 2, 31), Date.UTC(2030, 9, 27), Date.UTC(2030, 5, 1)]) {
      const instantOf = instantsIn(counting, midnight, midnight + 24 * hour);
      for (let minute = 0; minute < 1440; minute++) instantOf(midnight + minute * 60_000);
    }
    assert.ok(asked < 100, `${asked} offsets`);
  });
});
