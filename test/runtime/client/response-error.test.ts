import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isConflict, isNotFound } from '../../../src/runtime/client/api-error.ts';
import { errorOfResponse, isStatusError } from '../../../src/runtime/client/response-error.ts';

function errorOf(code: number, body: string | object, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify({ kind: 'Status', ...body });
  return errorOfResponse('GET https://host/x', { code, headers, body: Buffer.from(text) });
}

describe('errorOfResponse', () => {
  test('takes the words of a Status', () => {
    const error = errorOf(404, { message: 'pods "x" not found', reason: 'NotFound', details: { name: 'x' } });
    assert.ok(isNotFound(error));
    assert.deepEqual(
      [error.message, error.code, error.status.details?.name],
      ['pods "x" not found', 404, 'x'],
    );
  });

  test('takes the HTTP code when the Status has none of its own, and names the request', () => {
    const error = errorOf(409, { reason: 'Conflict' });
    assert.ok(isConflict(error));
    assert.equal(error.message, 'GET https://host/x: HTTP 409 Conflict');
  });

  const retryAfter = [
    { title: 'the header, in milliseconds', headers: { 'retry-after': '3' }, body: {}, is: 3000 },
    { title: 'the details', headers: {}, body: { details: { retryAfterSeconds: 2 } }, is: 2000 },
    {
      title: 'the header before the details',
      headers: { 'retry-after': '3' },
      body: { details: { retryAfterSeconds: 2 } },
      is: 3000,
    },
    {
      title: 'no date',
      headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' },
      body: {},
      is: undefined,
    },
    { title: 'no nonsense', headers: { 'retry-after': '-1' }, body: {}, is: undefined },
    { title: 'an hour at the most', headers: { 'retry-after': '3600' }, body: {}, is: 3_600_000 },
    { title: 'no day', headers: { 'retry-after': '86400' }, body: {}, is: undefined },
    {
      title: 'the details where the header is out of range',
      headers: { 'retry-after': '1'.repeat(400) },
      body: { details: { retryAfterSeconds: 2 } },
      is: 2000,
    },
    ...['soon', '5', null, -1, 86_400].map((retryAfterSeconds) => ({
      title: `no ${JSON.stringify(retryAfterSeconds)} in the details`,
      headers: {},
      body: { details: { retryAfterSeconds } },
      is: undefined,
    })),
    {
      title: 'the header of a plain text',
      headers: { 'retry-after': '1' },
      body: 'Too many requests',
      is: 1000,
    },
  ];
  for (const { title, headers, body, is } of retryAfter) {
    test(`retryAfter: ${title}`, () => assert.equal(errorOf(429, body, headers).retryAfter, is));
  }

  test('of a Status only those fields count that have their types', () => {
    const error = errorOf(409, {
      message: 7,
      reason: ['Conflict'],
      status: null,
      code: '409',
      details: { name: 1, kind: 'pods', causes: [null, 'x', { reason: 2, message: 'm', field: 'f' }] },
    });
    const cause = { message: 'm', field: 'f' };
    assert.deepEqual(error.status, { kind: 'Status', details: { kind: 'pods', causes: [cause] } });
    assert.equal(error.message, 'GET https://host/x: HTTP 409');
    assert.deepEqual(errorOf(409, { details: 'none', message: 'm' }).status, {
      kind: 'Status',
      message: 'm',
    });
    assert.deepEqual(errorOf(409, { details: { causes: {} } }).status, { kind: 'Status', details: {} });
  });

  // Byte by byte what an API server of 1.36 answers to a request with a `?timeout=` that is over.
  const timeout = {
    metadata: {},
    status: 'Failure',
    message: 'Timeout: request did not complete within the allotted timeout',
    reason: 'Timeout',
    details: {},
    code: 504,
  };

  test('takes the words of a timeout, which the API server writes without a kind', () => {
    const body = Buffer.from(JSON.stringify(timeout));
    const error = errorOfResponse('POST https://host/x', { code: 504, headers: {}, body });
    assert.deepEqual([error.message, error.code, error.reason], [timeout.message, 504, 'Timeout']);
    // Anything may have written it.
    assert.equal(isStatusError(error), false);
  });

  const kindless = [
    { ...timeout, reason: 'NotFound', code: 404 },
    { ...timeout, code: 502 },
    { ...timeout, status: 'error' },
    { ...timeout, message: { text: 'timeout' } },
    { ...timeout, kind: 'Problem' },
    { ...timeout, apiVersion: 'example.com/v1' },
  ];
  for (const object of kindless) {
    test(`takes no words of what only looks like it: ${JSON.stringify(object)}`, () => {
      const body = Buffer.from(JSON.stringify(object));
      const error = errorOfResponse('POST https://host/x', { code: object.code, headers: {}, body });
      assert.deepEqual([error.reason, isStatusError(error)], ['', false]);
      assert.match(error.message, /^POST https:\/\/host\/x: HTTP \d+: \{/);
    });
  }

  const foreign = [
    {
      title: 'a page of HTML becomes a line',
      headers: { 'content-type': 'text/html' },
      body: '<html><head><style>p { color: red }</style><title>502 Bad Gateway</title></head>\n<body>\n<hr>nginx</body></html>',
      is: 'GET https://host/x: HTTP 502: 502 Bad Gateway nginx',
    },
    {
      title: 'plain text stays',
      body: 'no healthy upstream\n',
      is: 'GET https://host/x: HTTP 502: no healthy upstream',
    },
    { title: 'nothing is said about nothing', body: '', is: 'GET https://host/x: HTTP 502' },
    {
      title: 'escapes for a terminal are taken out',
      body: '\u001b[31mred\u0007',
      is: 'GET https://host/x: HTTP 502: [31mred',
    },
    {
      title: 'JSON that is no Status',
      body: '{"error":"x"}',
      is: 'GET https://host/x: HTTP 502: {"error":"x"}',
    },
    {
      title: 'JSON that is none',
      body: '{"kind":"Status"',
      is: 'GET https://host/x: HTTP 502: {"kind":"Status"',
    },
    {
      title: 'a novel is cut',
      body: 'x'.repeat(5000),
      is: `GET https://host/x: HTTP 502: ${'x'.repeat(200)}…`,
    },
  ];
  for (const { title, body, headers = {}, is } of foreign) {
    test(title, () => {
      const error = errorOf(502, body, headers);
      assert.deepEqual([error.message, error.code, error.reason], [is, 502, '']);
    });
  }
});
