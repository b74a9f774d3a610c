import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, TransportError } from '../../src/runtime/client/api-error.ts';
import { errorFields } from '../../src/runtime/logger.ts';

describe('errorFields', () => {
  it('shows of an answer of the API server what it says, without stack and body', () => {
    const error = new ApiError('pods "x" is forbidden', 403, { reason: 'Forbidden', details: { name: 'x' } });
    assert.deepEqual(errorFields(error), {
      type: 'ApiError',
      message: 'pods "x" is forbidden',
      code: 403,
      reason: 'Forbidden',
    });
  });

  it('names the cause of a call that got no answer', () => {
    const cause = new Error('connect ECONNREFUSED');
    assert.deepEqual(errorFields(new TransportError('no answer', false, { cause })), {
      type: 'TransportError',
      message: 'no answer',
      sent: false,
      cause: { type: 'Error', message: 'connect ECONNREFUSED' },
    });
  });

  it('goes down the chain of causes, but not round in it', () => {
    const answer = new ApiError('quota exceeded', 403, { reason: 'Forbidden' });
    const error = new Error('no Pod', { cause: new Error('not created', { cause: answer }) });
    const { cause } = errorFields(error) as { cause: object };
    assert.deepEqual(cause, {
      type: 'Error',
      message: 'not created',
      cause: { type: 'ApiError', message: 'quota exceeded', code: 403, reason: 'Forbidden' },
    });
    answer.cause = error;
    assert.ok(JSON.stringify(errorFields(error)).length < 10_000);
  });

  it('shows where an error came from that is not expected', () => {
    const fields = errorFields(new TypeError('x is not a function')) as { type: string; stack: string };
    assert.equal(fields.type, 'TypeError');
    assert.match(fields.stack, /logger\.test\.ts/);
  });

  it('lets what is no error through', () => {
    assert.equal(errorFields('a word'), 'a word');
  });
});
