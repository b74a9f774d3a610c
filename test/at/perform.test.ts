import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Memory } from '../../src/at/memory.ts';
import { Performer } from '../../src/at/perform.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { FakeClock } from '../fake/clock.ts';
import { accepted, created, observing } from '../fixtures/at.ts';

const context = { signal: new AbortController().signal, log: silentLogger, reconcileID: 'test' };
const at = accepted();
const pod = created(at);

/** What a dry run that the API server answers like this warns of. */
async function warningsOf(code: number, reason: string, message: string): Promise<string[]> {
  const warnings: string[] = [];
  const create = () => Promise.reject(new ApiError(message, code, { code, reason, message }));
  const performer = new Performer({
    client: { create } as unknown as Client,
    clock: new FakeClock(),
    memory: new Memory(),
    onRefusedDryRun: (_at, text) => warnings.push(text),
  });
  assert.deepEqual(await performer.perform({ type: 'DryRunPod', pod }, observing({ at }), context), {
    next: 'goOn',
  });
  return warnings;
}

describe('a dry run', () => {
  const rows = [
    [403, 'Forbidden', 'exceeded quota', true],
    [422, 'Invalid', 'Pod "example-at-pod" is invalid: spec.dnsPolicy: Unsupported value', true],
    [
      400,
      'BadRequest',
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool',
      true,
    ],
    [400, 'BadRequest', 'admission webhook "a.b.c" does not support dry run', false],
    [500, 'InternalError', 'Pod in version "v1" cannot be handled as a Pod: out of memory', false],
  ] as const;
  for (const [code, reason, message, isTold] of rows) {
    it(`${isTold ? 'warns of' : 'is silent about'} ${code} ${message.slice(0, 70)}`, async () => {
      assert.deepEqual(await warningsOf(code, reason, message), isTold ? [message] : []);
    });
  }
});
