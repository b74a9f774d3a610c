import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { calendarDay, dayNumber } from '../../src/api/calendar.ts';

const milliseconds = 24 * 60 * 60 * 1000;
const firstDay = Date.parse('0001-01-01') / milliseconds;
const lastDay = Date.parse('9999-12-31') / milliseconds;

function dateOf(days: number) {
  const date = new Date(days * milliseconds);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

test('every day of four centuries is the one that Date says, in both directions', () => {
  const first = Date.parse('1800-01-01') / milliseconds;
  for (let days = first; days < first + 146_097; days++) {
    const day = calendarDay(days);
    assert.deepEqual(day, dateOf(days));
    assert.equal(dayNumber(day), days);
  }
});

test('so is every other', () => {
  fc.assert(
    fc.property(fc.integer({ min: firstDay, max: lastDay }), (days) => {
      assert.deepEqual(calendarDay(days), dateOf(days));
      assert.equal(dayNumber(dateOf(days)), days);
    }),
  );
});

test('what the calendar does not have has no number', () => {
  const rows = [
    '2030-00-10',
    '2030-13-10',
    '2030-01-00',
    '2030-01-32',
    '2030-04-31',
    '2030-02-29',
    '1900-02-29',
  ];
  for (const row of rows) {
    const [year = 0, month = 0, day = 0] = row.split('-').map(Number);
    assert.equal(dayNumber({ year, month, day }), undefined, row);
  }
  assert.equal(dayNumber({ year: 2000, month: 2, day: 29 }), Date.parse('2000-02-29') / milliseconds);
});
