import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMicroTime, formatMilliTime, formatTime, parseTime } from '../../src/kubernetes/time.ts';
import { fc } from '../fixtures/property.ts';

const firstInstant = Date.parse('0001-01-01T00:00:00Z');
const lastInstant = Date.parse('9999-12-31T23:59:59.999Z');

test('each format has exactly its digits', () => {
  const instant = Date.UTC(2030, 0, 31, 9, 0, 0, 50);
  assert.equal(formatTime(instant), '2030-01-31T09:00:00Z');
  assert.equal(formatMilliTime(instant), '2030-01-31T09:00:00.050Z');
  assert.equal(formatMicroTime(instant), '2030-01-31T09:00:00.050000Z');
});

test('a fraction of a millisecond is dropped, also before 1970', () => {
  assert.equal(formatMilliTime(0.9), '1970-01-01T00:00:00.000Z');
  assert.equal(formatMilliTime(-0.1), '1969-12-31T23:59:59.999Z');
});

test('years have four digits at both ends, and there is nothing beyond', () => {
  assert.equal(formatTime(firstInstant), '0001-01-01T00:00:00Z');
  assert.equal(formatTime(lastInstant), '9999-12-31T23:59:59Z');
  for (const beyond of [firstInstant - 1, lastInstant + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => formatTime(beyond), RangeError);
  }
});

test('what the API server writes is read', () => {
  const rows = [
    { text: '2030-01-31T09:00:00Z', instant: Date.UTC(2030, 0, 31, 9) },
    { text: '2030-01-31T09:00:00.123456Z', instant: Date.UTC(2030, 0, 31, 9, 0, 0, 123) },
    { text: '2030-01-31T09:00:00+02:00', instant: Date.UTC(2030, 0, 31, 7) },
  ];
  for (const { text, instant } of rows) {
    assert.equal(parseTime(text), instant, text);
  }
});

test('what is no instant is NaN, never a guess', () => {
  for (const text of ['', 'soon', '2030-02-30T00:00:00Z', '2030-01-31T09:00:00', '2030-01-31', '5']) {
    assert.equal(parseTime(text), Number.NaN, text);
  }
});

test('no part of an instant may be out of its range, or be anything but digits', () => {
  const text = '2030-01-31T09:00:00Z';
  for (const other of ['2030-13-31', '2030-00-31', '2030-01-32', '2030-01-00']) {
    assert.equal(parseTime(text.replace('2030-01-31', other)), Number.NaN, other);
  }
  for (const other of ['24:00:00', '09:60:00', '09:00:60']) {
    assert.equal(parseTime(text.replace('09:00:00', other)), Number.NaN, other);
  }
  for (const index of text.slice(0, -1).split('').keys()) {
    const other = `${text.slice(0, index)}x${text.slice(index + 1)}`;
    assert.equal(parseTime(other), Number.NaN, other);
  }
});

test('whole seconds survive the round trip', () => {
  fc.assert(
    fc.property(fc.integer({ min: firstInstant / 1000, max: Math.floor(lastInstant / 1000) }), (second) => {
      assert.equal(parseTime(formatTime(second * 1000)), second * 1000);
    }),
  );
});

test('milliseconds survive the round trip', () => {
  fc.assert(
    fc.property(fc.integer({ min: firstInstant, max: lastInstant }), (instant) => {
      assert.equal(parseTime(formatMilliTime(instant)), instant);
      assert.equal(parseTime(formatMicroTime(instant)), instant);
    }),
  );
});
