import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatDuration, parseDuration } from '../../src/kubernetes/duration.ts';

describe('parseDuration', () => {
  const rows: [string, number | undefined][] = [
    ['0', 0],
    ['0s', 0],
    ['2s', 2000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['100ms', 100],
    ['0.1s0.2s', 300],
    ['1us', 1],
    ['1µs', 1],
    ['1ns', 1],
    ['1.s', 1000],
    ['2562047h', 9_223_369_200_000],
    ['2562048h', undefined],
    ['', undefined],
    ['5', undefined],
    ['-2s', undefined],
    ['+2s', undefined],
    ['2 s', undefined],
    ['2S', undefined],
    ['s', undefined],
    ['.s', undefined],
    ['1d', undefined],
    ['1e3s', undefined],
    ['2s\n', undefined],
  ];
  for (const [text, expected] of rows) {
    it(`reads ${JSON.stringify(text)} as ${expected}`, () => assert.equal(parseDuration(text), expected));
  }
});

describe('formatDuration', () => {
  for (const [ms, text] of [
    [0, '0ms'],
    [-5, '0ms'],
    [250, '250ms'],
    [1000, '1s'],
    [90_000, '1m30s'],
    [3_600_000, '1h'],
    [3_601_000, '1h1s'],
  ] as const) {
    it(`writes ${ms} ms as ${text}`, () => assert.equal(formatDuration(ms), text));
  }
});
