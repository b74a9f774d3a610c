import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Decider, DecidingReconciler } from '../../../src/runtime/controller/deciding-reconciler.ts';
import type { Answer, Decision } from '../../../src/runtime/controller/decision.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';

interface Facts {
  readonly version: number;
  readonly live?: boolean;
  readonly refused?: boolean;
}

type Parts = Partial<Decider<Facts, 'live', string>>;

const context = { signal: new AbortController().signal, log: silentLogger, reconcileID: 'test' };

/** Reconciles once. Returns the result, and what was performed on which version. */
async function reconcile(decide: (facts: Facts) => Decision<'live', string>, parts: Parts = {}) {
  const performed: string[] = [];
  const reconciler = new DecidingReconciler<Facts, 'live', string>({
    observe: async () => ({ version: 1 }),
    decide,
    read: async (_need, facts) => ({ next: 'decide', facts: { ...facts, live: true } }),
    ...parts,
    perform: async (effect, facts, call) => {
      performed.push(`${effect} ${facts.version}`);
      return parts.perform?.(effect, facts, call) ?? { next: 'goOn', facts };
    },
  });
  const result = await reconciler.reconcile({ namespace: 'default', name: 'n' }, context);
  return { performed, result };
}

/** Answers this to one effect; the others are as expected. */
function answering(to: string, answer: (facts: Facts) => Answer<Facts>): Parts {
  return { perform: async (effect, facts) => (effect === to ? answer(facts) : { next: 'goOn', facts }) };
}

describe('a DecidingReconciler', () => {
  it('performs the effects in their order, and returns when to look again', async () => {
    const decision = { effects: ['write', 'tell'], requeueAt: 5, priority: 1 };
    const { performed, result } = await reconcile(() => decision);
    assert.deepEqual(performed, ['write 1', 'tell 1']);
    assert.deepEqual(result, { requeueAt: 5, priority: 1 });
  });

  it('decides nothing about an object that is not there', async () => {
    const { result } = await reconcile(() => assert.fail(), { observe: async () => undefined });
    assert.deepEqual(result, {});
  });

  it('reads what is missing, and decides again', async () => {
    const { performed } = await reconcile(({ live }) => (live ? { effects: ['delete'] } : { need: 'live' }));
    assert.deepEqual(performed, ['delete 1']);
  });

  it('ends where a read ends the pass', async () => {
    const read: Parts['read'] = async () => ({ next: 'end', result: { requeueAfter: 3 } });
    assert.deepEqual((await reconcile(() => ({ need: 'live' }), { read })).result, { requeueAfter: 3 });
  });

  it('shows the next effect what the one before has changed', async () => {
    const parts = answering('write', () => ({ next: 'goOn', facts: { version: 2 } }));
    const { performed } = await reconcile(() => ({ effects: ['write', 'delete'] }), parts);
    assert.deepEqual(performed, ['write 1', 'delete 2']);
  });

  it('drops the rest of the list for a new fact, and decides again', async () => {
    const parts = answering('create', (facts) => ({ next: 'decide', facts: { ...facts, refused: true } }));
    const decide = ({ refused }: Facts) =>
      refused ? { effects: ['hold'], requeueAfter: 9 } : { effects: ['create', 'tell'] };
    const { performed, result } = await reconcile(decide, parts);
    assert.deepEqual(performed, ['create 1', 'hold 1']);
    assert.deepEqual(result, { requeueAfter: 9 });
  });

  it('ends the pass where an effect does, without the rest of the list', async () => {
    const parts = answering('write', () => ({ next: 'end', result: { requeueAfter: 1000 } }));
    const { performed, result } = await reconcile(() => ({ effects: ['write', 'delete'] }), parts);
    assert.deepEqual(performed, ['write 1']);
    assert.deepEqual(result, { requeueAfter: 1000 });
  });

  for (const [asked, expected] of [
    [undefined, 20],
    [10, 10],
    [30, 20],
  ] as const) {
    it(`looks again after ${expected} ms when the decision says ${asked} and an effect 20`, async () => {
      const parts = answering('evict', (facts) => ({ next: 'goOn', facts, requeueAfter: 20 }));
      const decision = { effects: ['evict', 'tell'], ...(asked !== undefined && { requeueAfter: asked }) };
      const { result } = await reconcile(() => decision, parts);
      assert.deepEqual(result, { requeueAfter: expected });
    });
  }

  it('fails when the decision does not settle', async () => {
    await assert.rejects(
      reconcile(() => ({ need: 'live' })),
      /^Error: the decision about default\/n does not settle$/,
    );
  });

  it('fails with the error of an effect', async () => {
    const perform: Parts['perform'] = () => Promise.reject(new Error('no connection'));
    await assert.rejects(
      reconcile(() => ({ effects: ['write'] }), { perform }),
      /no connection/,
    );
  });
});
