import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import { retryDelay } from '../../../src/runtime/client/retry.ts';

const random = () => 0.5;
const status = { kind: 'Status' } as const;
const tooLarge = { ...status, details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } };

describe('retryDelay', () => {
  const rows = [
    { title: 'a GET that was not answered', error: new TransportError('x', true), is: 100 },
    { title: 'a GET that was not sent', error: new TransportError('x', false), is: 100 },
    { title: 'a GET again and again', error: new TransportError('x', true), retries: 2, is: 400 },
    { title: 'a GET too often', error: new TransportError('x', true), retries: 3, is: undefined },
    { title: 'a GET and 500', error: new ApiError('x', 500, status), is: 100 },
    { title: 'a GET and 503 from a proxy', error: new ApiError('x', 503, {}), is: 100 },
    { title: 'a GET and 429 with Retry-After', error: new ApiError('x', 429, status, 1000), is: 1075 },
    {
      title: 'a GET and 503 with Retry-After for the fourth time',
      error: new ApiError('x', 503, status, 1000),
      retries: 4,
      is: 1075,
    },
    {
      title: 'a GET and 429 for the eleventh time',
      error: new ApiError('x', 429, status, 1000),
      retries: 10,
      is: undefined,
    },
    {
      title: 'a GET of a version from the future',
      error: new ApiError('x', 504, tooLarge, 1000),
      is: undefined,
    },
    { title: 'a GET and 404', error: new ApiError('x', 404, status), is: undefined },
    { title: 'a GET and 410', error: new ApiError('x', 410, status), is: undefined },
    { title: 'a GET and our own mistake', error: new TypeError('x'), is: undefined },
    {
      title: 'a write that was not answered',
      method: 'POST',
      error: new TransportError('x', true),
      is: undefined,
    },
    {
      title: 'a write that was not sent',
      method: 'PATCH',
      error: new TransportError('x', false),
      is: undefined,
    },
    { title: 'a write and 500', method: 'POST', error: new ApiError('x', 500, status, 1000), is: undefined },
    {
      title: 'a write turned away by priority and fairness',
      method: 'POST',
      error: new ApiError('x', 429, {}, 1000),
      is: 1075,
    },
    {
      title: 'a write turned away without a time',
      method: 'POST',
      error: new ApiError('x', 429, {}),
      is: undefined,
    },
    {
      title: 'an eviction that a budget forbids',
      method: 'POST',
      error: new ApiError('x', 429, status, 1000),
      is: undefined,
    },
  ];
  for (const { title, method = 'GET', error, retries = 0, is } of rows) {
    test(`${title}: ${is === undefined ? 'no' : `after ${is} ms`}`, () => {
      assert.equal(retryDelay({ method, error, retries, random }), is);
    });
  }

  test('is never shorter than asked', () => {
    const error = new ApiError('x', 429, status, 2000);
    assert.ok((retryDelay({ method: 'GET', error, retries: 0, random: () => 0 }) ?? 0) >= 2000);
  });
});
