import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PodControl } from '../../../src/configwatcher/act/pod-control.ts';
import type { Action } from '../../../src/configwatcher/decide/decision.ts';
import { emptyMemory, type PodOutcome, remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Client, DeleteOptions, ObjectKey, Status } from '../../../src/runtime/client/client.ts';
import { settle } from '../../fake/clock.ts';
import { now } from '../../fixtures/configwatcher.ts';

const { signal } = new AbortController();

function evicting(name: string): Exclude<Action, { annotations: object }> {
  return { type: 'EvictPod', pod: { name, uid: `uid of ${name}` }, owner: undefined };
}

function refused(code: number, status: Status, retryAfter?: number): ApiError {
  return new ApiError(status.message ?? '', code, status, retryAfter);
}

async function answerTo(error: Error): Promise<PodOutcome | undefined> {
  const client = { evict: () => Promise.reject(error) } as unknown as Client;
  const { outcomes, unsent } = await new PodControl(client).perform('shop', [evicting('web')], { signal });
  if (unsent) throw unsent.reason;
  return outcomes[0];
}

describe('PodControl', () => {
  it('names the uid in every write', async () => {
    const calls: [string, ObjectKey, string | undefined][] = [];
    const client = {
      evict: async (key: ObjectKey, { uid }: DeleteOptions) => calls.push(['evict', key, uid]),
      delete: async (_: unknown, key: ObjectKey, { uid }: DeleteOptions) => calls.push(['delete', key, uid]),
    } as unknown as Client;
    const actions: Action[] = [evicting('a'), { ...evicting('b'), type: 'DeletePod' }];
    const { outcomes } = await new PodControl(client).perform('shop', actions, { signal });
    assert.deepEqual(calls, [
      ['evict', { namespace: 'shop', name: 'a' }, 'uid of a'],
      ['delete', { namespace: 'shop', name: 'b' }, 'uid of b'],
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome?.result),
      ['Restarted', 'Restarted'],
    );
  });

  it('changes a template of the version it was decided on, or not at all', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'uid of web' };
    const restart: Action = {
      ...{ type: 'RestartRollout', owner, version: '7' },
      ...{ annotations: { change: 'a' }, pods: ['p'] },
    };
    const bodies: unknown[] = [];
    const conflict = refused(409, { reason: 'Conflict', message: 'm' });
    const client = {
      patch: async (_resource: unknown, _key: ObjectKey, { body }: { body: unknown }) => {
        bodies.push(body);
        if (bodies.length > 1) throw conflict;
      },
    } as unknown as Client;
    const podControl = new PodControl(client);
    const outcomes = [
      ...(await podControl.perform('shop', [restart], { signal })).outcomes,
      ...(await podControl.perform('shop', [restart], { signal })).outcomes,
    ];
    assert.deepEqual(bodies[0], {
      metadata: { uid: owner.uid, resourceVersion: '7' },
      spec: { template: { metadata: { annotations: { change: 'a' } } } },
    });
    assert.deepEqual(outcomes, [
      { uid: owner.uid, result: 'RolledOut' },
      { uid: owner.uid, result: 'Refused', cause: 'Conflict', message: 'm' },
    ]);
  });

  const uid = 'uid of web';
  const anotherPod =
    'Operation cannot be fulfilled on pods "web": Precondition failed: UID in precondition: a, UID in object meta: b';
  const raced =
    'Operation cannot be fulfilled on poddisruptionbudgets.policy "web": the object has been modified; please apply your changes to the latest version and try again';
  const unauthorized =
    'pods "web" is forbidden: User "atwatch" cannot create resource "pods/eviction" in API group "" in the namespace "shop"';
  const denied = 'admission webhook "drain.example.com" denied the request: not while it rebalances';
  const policy =
    `pods "web" is forbidden: ValidatingAdmissionPolicy 'pools' with binding 'pools' denied request: ` +
    'batch Pods cannot leave resource pools that drain';
  const answers: [string, Error, PodOutcome][] = [
    [
      '403 of a policy whose words are like those of the authorization',
      refused(403, { reason: 'Forbidden', message: policy }),
      { uid, result: 'Refused', cause: 'Failure', message: policy },
    ],
    ['404', refused(404, { reason: 'NotFound' }), { uid, result: 'Gone' }],
    [
      '404 of a proxy',
      refused(404, { message: 'm' }),
      { uid, result: 'Refused', cause: 'NoAnswer', message: 'm' },
    ],
    ['409 on the uid', refused(409, { reason: 'Conflict', message: anotherPod }), { uid, result: 'Gone' }],
    [
      '409 of evictions that race for a budget',
      refused(409, { reason: 'Conflict', message: raced }),
      { uid, result: 'Refused', cause: 'Conflict', message: raced },
    ],
    [
      '429 for a budget',
      refused(429, {
        reason: 'TooManyRequests',
        message: 'm',
        details: { causes: [{ reason: 'DisruptionBudget' }] },
      }),
      { uid, result: 'Refused', cause: 'Budget', message: 'm' },
    ],
    [
      '429 for a budget that is named',
      refused(429, {
        reason: 'TooManyRequests',
        message: 'm',
        details: { causes: [{ reason: 'DisruptionBudget', message: 'web needs 2 healthy pods and has 2' }] },
      }),
      { uid, result: 'Refused', cause: 'Budget', message: 'web needs 2 healthy pods and has 2' },
    ],
    [
      '429 with Retry-After',
      refused(429, { reason: 'TooManyRequests', message: 'm' }, 7000),
      { uid, result: 'Refused', cause: 'Overload', message: 'm', retryAfter: 7000 },
    ],
    [
      '500 for several budgets',
      refused(500, {
        message:
          'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      }),
      {
        uid,
        result: 'Refused',
        cause: 'SeveralBudgets',
        message:
          'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      },
    ],
    ['500', refused(500, { message: 'm' }), { uid, result: 'Refused', cause: 'Failure', message: 'm' }],
    [
      '503 of a proxy',
      refused(503, { message: 'm' }),
      { uid, result: 'Refused', cause: 'NoAnswer', message: 'm' },
    ],
    [
      '403',
      refused(403, { reason: 'Forbidden', message: unauthorized }),
      { uid, result: 'Refused', cause: 'Forbidden', message: 'create pods/eviction' },
    ],
    [
      '403 of an admission webhook',
      refused(403, { reason: 'Forbidden', message: denied }),
      { uid, result: 'Refused', cause: 'Failure', message: denied },
    ],
    [
      'no answer',
      new TransportError('cut', true),
      { uid, result: 'Refused', cause: 'NoAnswer', message: 'cut' },
    ],
  ];
  for (const [what, error, expected] of answers) {
    it(`understands ${what}`, async () => assert.deepEqual(await answerTo(error), expected));
  }

  it('tells what was done when a write could not be sent', async () => {
    const reason = new TransportError('not the leader', false);
    const client = {
      evict: async ({ name }: ObjectKey) => {
        if (name === 'b') throw reason;
        if (name === 'c') throw refused(429, { message: 'm' });
      },
    } as unknown as Client;
    const batch = ['a', 'b', 'c', 'd'].map(evicting);
    const { outcomes, unsent } = await new PodControl(client).perform('shop', batch, { signal });
    assert.deepEqual(
      outcomes.map((outcome) => outcome?.result),
      ['Restarted', undefined, 'Refused', 'Restarted'],
    );
    assert.equal(unsent?.reason, reason);
  });

  it('begins nothing once the reconcile is over', async () => {
    const client = { evict: () => assert.fail('sent') } as unknown as Client;
    const over = AbortSignal.abort(new Error('over'));
    const { unsent } = await new PodControl(client).perform('shop', [evicting('a')], { signal: over });
    assert.match(String(unsent?.reason), /over/);
  });

  it('stops after the writes in flight when the batch is not wanted any more', async () => {
    let sent = 0;
    const client = { evict: async () => void sent++ } as unknown as Client;
    const batch = Array.from({ length: 100 }, (_, index) => evicting(`pod-${index}`));
    const { outcomes } = await new PodControl(client).perform('shop', batch, {
      signal,
      isWanted: () => sent < 3,
    });
    assert.equal(sent, 3);
    assert.deepEqual(
      outcomes.map((outcome) => outcome?.result),
      [...Array(3).fill('Restarted'), ...Array(97).fill(undefined)],
    );
  });

  it('has at most 32 writes in flight, over all watchers', async () => {
    const waiting: (() => void)[] = [];
    const client = {
      evict: () => new Promise<void>((resolve) => waiting.push(resolve)),
    } as unknown as Client;
    const podControl = new PodControl(client);
    const batch = Array.from({ length: 20 }, (_, index) => evicting(`pod-${index}`));
    const both = Promise.all([
      podControl.perform('a', batch, { signal }),
      podControl.perform('b', batch, { signal }),
    ]);
    await settle();
    assert.equal(waiting.length, 32);
    let released = 0;
    while (waiting.length > 0) {
      waiting.shift()?.();
      released++;
      await settle();
    }
    assert.equal(released, 40);
    assert.equal((await both).flatMap(({ outcomes }) => outcomes).length, 40);
  });

  it('lets a small batch through between the writes of a big one', async () => {
    const sent: string[] = [];
    const waiting: (() => void)[] = [];
    const client = {
      evict: ({ namespace }: ObjectKey) => {
        sent.push(namespace ?? '');
        return new Promise<void>((resolve) => waiting.push(resolve));
      },
    } as unknown as Client;
    const podControl = new PodControl(client);
    const batch = (size: number) => Array.from({ length: size }, (_, index) => evicting(`pod-${index}`));
    const both = [
      podControl.perform('big', batch(1000), { signal }),
      podControl.perform('small', batch(1), { signal }),
    ];
    for (let answered = 0; answered < 1001; answered++) {
      await settle();
      waiting.shift()?.();
    }
    await Promise.all(both);
    assert.ok(sent.indexOf('small') <= 64, `its turn was number ${sent.indexOf('small')}`);
  });
});

describe('remember', () => {
  const refusal: PodOutcome = { uid: 'a', result: 'Refused', cause: 'Budget', message: 'no' };
  const waits = (outcome: PodOutcome, times: number, jitter = 0) => {
    let memory = emptyMemory;
    for (let time = 0; time < times; time++) memory = remember(memory, [outcome], now, () => jitter);
    return (memory.refusals.get('a')?.retryAt ?? 0) - now;
  };

  it('waits from 1 s to 15 s, with jitter, and a minute where that goes on', () => {
    assert.deepEqual(
      [1, 2, 4, 5, 12, 13, 50].map((times) => waits(refusal, times)),
      [1000, 2000, 8000, 12_500, 12_500, 60_000, 60_000],
    );
    assert.deepEqual([waits(refusal, 1, 1), waits(refusal, 12, 1)], [1200, 15_000]);
  });

  it('waits for a right from 1 s to half a minute: it may be missing for a moment only', () => {
    const forbidden = { ...refusal, cause: 'Forbidden' } as const;
    assert.deepEqual(
      [1, 2, 6].map((times) => waits(forbidden, times)),
      [1000, 2000, 30_000],
    );
  });

  it('waits as long as the server asks for', () => {
    assert.equal(
      waits({ ...refusal, cause: 'Overload', retryAfter: 60_000 }, 1),
      61_000,
      'and as what is known of its time may move on',
    );
  });

  it('takes an error back when the Pod went, or was gone, after all', () => {
    const error: PodOutcome = { uid: 'a', result: 'Refused', cause: 'Failure', message: 'broken' };
    const memory = remember(emptyMemory, [error, { ...error, uid: 'b' }], now, () => 0);
    assert.deepEqual([...memory.failed], ['a', 'b']);
    const after: PodOutcome[] = [
      { uid: 'a', result: 'Restarted' },
      { uid: 'b', result: 'Gone' },
    ];
    assert.equal(remember(memory, after, now, () => 0).failed.size, 0);
    const rolled: PodOutcome = { uid: 'a', result: 'RolledOut' };
    assert.deepEqual([...remember(memory, [rolled], now, () => 0).failed], ['b']);
  });

  it('forgets the refusal of a Pod that went', () => {
    const memory = remember(emptyMemory, [refusal], now, () => 0);
    const after = remember(memory, [{ uid: 'a', result: 'Restarted' }], now, () => 0);
    assert.equal(after.refusals.size, 0);
  });
});
