import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redact } from '../../../src/at/act/redact.ts';
import { ApiError, isForbidden } from '../../../src/runtime/client/api-error.ts';
import { created, waiting } from '../../fixtures/at.ts';

const pod = created(
  waiting({
    command: 'backup --token=s3cret-token',
    template: {
      spec: {
        containers: [
          {
            args: ['s3cret-argument'],
            env: [
              { name: 'PASSWORD', value: 's3cret"quoted' },
              { name: 'LONG', value: 's3cret"quoted and more' },
              { name: 'FLAG', value: 'true' },
            ],
            livenessProbe: { httpGet: { httpHeaders: [{ name: 'x', value: 's3cret-header' }] } },
          },
        ],
        initContainers: [{ name: 'first', command: ['s3cret-first'] }],
      },
    },
  }),
);

function refusal(message: string): ApiError {
  return new ApiError(message, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message }, 1000);
}

describe('an error about a Pod', () => {
  for (const { quoted, is } of [
    { quoted: 'words --token=s3cret-token', is: 'words …' },
    { quoted: 's3cret-header and s3cret-first', is: '… and …' },
    { quoted: 's3cret"quoted and more', is: '…' },
    { quoted: String.raw`{"value":"s3cret\"quoted"}`, is: '{"value":"…"}' },
    { quoted: 'privileged must not be true', is: 'privileged must not be true' },
  ]) {
    it(`does not quote it: ${is}`, () => {
      const error = redact(refusal(`spec.containers[0].env[1]: ${quoted}`), pod);
      assert.ok(isForbidden(error) && error instanceof ApiError);
      assert.equal(error.message, `spec.containers[0].env[1]: ${is}`);
      assert.equal(error.status.message, error.message);
      assert.equal(error.retryAfter, 1000);
    });
  }

  it('is left alone when it quotes nothing, or is none of the API server', () => {
    const plain = refusal('exceeded quota');
    assert.equal(redact(plain, pod), plain);
    const other = new Error('s3cret-argument');
    assert.equal(redact(other, pod), other);
  });
});
