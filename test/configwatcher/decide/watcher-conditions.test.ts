import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import type { Plan } from '../../../src/configwatcher/decide/restart.ts';
import { blockedMessage, budgetAdvice } from '../../../src/configwatcher/decide/watcher-conditions.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import {
  type EvictionRefusal,
  emptyMemory,
  type RestartMemory,
} from '../../../src/configwatcher/facts/restart-memory.ts';
import type { Pending } from '../../../src/configwatcher/facts/state.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import {
  afterwards,
  applied,
  changing,
  decided,
  found,
  newContent,
  now,
  oldContent,
  ownedBy,
  pod,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';

function condition({ state }: Pick<Steps, 'state'>, type: string) {
  const { status, reason, message = '' } = findCondition(state.conditions, type) ?? {};
  return { status, reason, message };
}

describe('what is advised about a budget that keeps a Pod', () => {
  const advised = (needs: number, has: number) =>
    budgetAdvice(`The disruption budget web needs ${needs} healthy pods and has ${has} currently`, 2, true);
  it('is a wider one only where it needs as many Pods as the owner has, and is not one of other Pods, too', () => {
    assert.match(advised(2, 2), /never allows one to go/);
    assert.match(advised(2, 1), /never allows one to go/);
    assert.equal(advised(1, 1), '');
    assert.equal(advised(3, 3), '', 'of two owners, one of which has lost a Pod for a moment');
  });
});

describe('what is said of several Pods that budgets keep', () => {
  it('advises about one that is not Ready, wherever it stands', () => {
    const blocked = [pod({ uid: 'a', name: 'web-a' }), pod({ uid: 'b', name: 'web-b', ready: false })];
    const message = 'The disruption budget web needs 3 healthy pods and has 3 currently';
    const refusal = { cause: 'Budget', attempts: 1, retryAt: 0, message } as const;
    const refusals = new Map(blocked.map(({ uid }) => [uid, refusal]));
    const plan = { blocked, ownerOf: new Map() } as unknown as Plan;
    assert.match(blockedMessage(plan, refusals), /^web-a, web-b: .*unhealthyPodEvictionPolicy: AlwaysAllow/);
  });
});

describe('Progressing names the end of a wait', () => {
  const atOnce = { debounce: { quiet: '0s' } };
  const rows = [
    {
      what: 'for a window',
      spec: { ...atOnce, windows: [{ schedule: '30 12 * * *', duration: '10m' }] },
      expected: ['Window', 'a change waits for the next window (until 2024-06-01T12:30:00Z)'],
    },
    {
      what: 'for the cooldown',
      spec: { ...atOnce, windows: [{ schedule: '30 12 * * *', duration: '10m' }] },
      cooldownUntil: now + 60_000,
      expected: [
        'Cooldown',
        'a change waits, because the last restart was a short time ago (until 2024-06-01T12:01:00Z)',
      ],
    },
    {
      what: 'for more edits, where it moves, not',
      spec: {},
      expected: ['Debounce', 'a change was seen; waiting for further edits'],
    },
  ];
  for (const { what, spec, cooldownUntil, expected } of rows) {
    it(what, () => {
      const state = { ...applied(), ...(cooldownUntil !== undefined && { cooldownUntil }) };
      const facts = { state, spec: specOf(spec), sources: [newContent], pods: several(1) };
      const first = decided(facts);
      // A later look says the same, or the status would be written at each.
      for (const decision of [first, decided(afterwards(facts, first, 1000))]) {
        const { reason, message } = findCondition(decision.state.conditions, 'Progressing') ?? {};
        assert.deepEqual([reason, message], expected);
      }
    });
  }
});

describe('Progressing of a watcher that is not Ready', () => {
  const missing = found(undefined);
  const last = 'the Pods run with the content that was applied last';

  for (const [what, facts, message] of [
    [
      'before its first content',
      { state: applied([]) },
      'its first content is the baseline, which restarts nothing',
    ],
    ['after one', {}, last],
    // The marker of its absence is applied.
    [
      'whose absence restarted Pods',
      { state: applied([missing]), spec: specOf({ onDelete: 'Restart' }) },
      last,
    ],
  ] as const) {
    it(`for a missing source ${what} names the source`, () => {
      const expected = {
        status: 'False',
        reason: 'SourceMissing',
        message: `ConfigMap webapp-config does not exist; ${message}`,
      };
      const first = decided({ ...facts, sources: [missing] });
      const next = decided(afterwards({ ...facts, sources: [missing] }, first, 1000));
      assert.deepEqual([condition(first, 'Progressing'), next.state], [expected, first.state]);
    });
  }

  it('is UpToDate again when the source is back', () => {
    const gone = decided({ sources: [missing] });
    const back = decided(afterwards({ sources: [oldContent] }, gone, 1000));
    assert.equal(condition(back, 'Progressing').reason, 'UpToDate');
  });

  for (const [reason, facts] of [
    ['Forbidden', { forbidden: { verb: 'list', resource: 'pods' } }],
    ['InvalidSpec', { spec: { invalid: 'spec.windows[0].timeZone is not a known time zone' } }],
  ] as const) {
    it(`for ${reason} says the same as Ready`, () => {
      const { state, memory } = decided({});
      const refused = decided({ ...facts, state, memory });
      const ready = condition(refused, 'Ready');
      assert.deepEqual([ready.status, ready.reason], ['False', reason]);
      assert.deepEqual(condition(refused, 'Progressing'), ready);
      const mended = decided(afterwards({}, refused, 1000));
      assert.equal(condition(mended, 'Progressing').reason, 'UpToDate');
    });
  }

  it('for a restart without the right to evict names the right', () => {
    const refusal = {
      cause: 'Forbidden',
      attempts: 1,
      retryAt: now + 1000,
      message: 'create pods/eviction',
    } as const;
    const { facts } = restarting([pod()]);
    const memory = { ...facts.memory, refusals: new Map([[facts.pods[0]?.uid ?? '', refusal]]) };
    const refused = decided({ ...facts, memory });
    const message = 'the operator may not create pods/eviction here';
    assert.deepEqual(condition(refused, 'Ready'), { status: 'False', reason: 'Forbidden', message });
    assert.deepEqual(condition(refused, 'Progressing'), { status: 'True', reason: 'Forbidden', message });
    const others = decided({ ...facts, memory, pods: [pod()] });
    assert.equal(condition(others, 'Ready').status, 'True', 'that Pod is gone, and another one is left');
  });

  it('stays RestartAbandoned, which is known by it alone', () => {
    const { facts } = restarting([pod(), pod()]);
    const other = { ...oldContent.source, name: 'other' };
    const spec = specOf({ configMap: 'other' });
    const abandoned = decided({ ...facts, spec, sources: [found({ message: 'other' }, { source: other })] });
    const sources = [found(undefined, { source: other })];
    for (const worse of [{ sources }, { forbidden: { verb: 'list', resource: 'pods' } }]) {
      const { state } = decided({ ...afterwards({ ...facts, spec }, abandoned, 1000), sources, ...worse });
      assert.deepEqual(
        [condition({ state }, 'Progressing').reason, state.stalePods],
        ['RestartAbandoned', 2],
      );
    }
  });
});

const place = { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 2, available: 2 };

/** In the middle of the restart of a Deployment of so many Pods. */
function restarting(pods: readonly PodFacts[], more: Partial<Pending> = {}) {
  const started = now - 30_000;
  const pending: Pending = {
    ...{ hash: newContent.hash, since: started, started, cutoff: started - 1000, total: 2 },
    ...{ owners: [place], reason: 'InProgress', ...more },
  };
  const lastRestart = {
    id: 'v1:change',
    start: started,
    restarted: 0,
    skippedFresh: 0,
    skippedUnmanaged: 0,
    failed: 0,
  };
  const memory: RestartMemory = { ...emptyMemory, id: lastRestart.id };
  const state = { ...changing(pending), lastRestart };
  const facts = {
    state,
    memory,
    pods,
    sources: [newContent],
    owners: ownedBy(2),
  } satisfies Partial<Observed>;
  return { facts };
}

describe('Stalled for a content that breaks Pods', () => {
  const crashing = (name: string) =>
    pod({
      ...{ name, created: now - 20_000, ready: false, restarts: 2 },
      failure: { container: 'app', reason: 'Error', exitCode: 3 },
    });
  const first = 'webapp-z';
  const message = (
    pods: readonly PodFacts[],
    more: Partial<Pending> = {},
    cooldownUntil: number | undefined = now + 60_000,
  ) => {
    const { facts } = restarting(pods, more);
    return condition(decided({ ...facts, state: { ...facts.state, cooldownUntil } }), 'Stalled').message;
  };

  it('says that the next edit is applied at once, as long as it is', () => {
    const pods = [pod(), crashing(first)];
    const atOnce = /so no further Pod gets this content; the next edit is applied at once; Pod webapp-z, /;
    assert.match(message(pods), atOnce);
    assert.match(message(pods, { repairs: 2 }), atOnce);
    assert.match(
      message(pods, { repairs: 3 }),
      /this content; several edits in a row .* waits for the cooldown; Pod/,
    );
  });

  it('goes on naming the Pod that its Event has named when another one breaks', () => {
    const { facts } = restarting([pod(), crashing(first)]);
    const told = decided(facts);
    const event = told.events.find(({ reason }) => reason === 'RestartStalled');
    assert.equal(event?.note, condition(told, 'Stalled').message);
    // A rollout makes several Pods together; the API server lists them by name.
    const pods = [crashing('webapp-a'), ...facts.pods];
    const next = decided(afterwards({ ...facts, pods }, told, 1000));
    assert.equal(condition(next, 'Stalled').message, event?.note);
    const gone = decided(afterwards({ ...facts, pods: [crashing('webapp-a'), pod()] }, next, 1000));
    assert.match(condition(gone, 'Stalled').message, /Pod webapp-a, /);
  });
});

describe('Stalled past the deadline by a refusal', () => {
  const serving = [pod({ name: 'webapp-a' }), pod({ name: 'webapp-b' })];
  const broken = pod({ name: 'webapp-c', ready: false });
  const message = (cause: EvictionRefusal['cause'], words: string, refused: readonly PodFacts[]) => {
    const { facts } = restarting([...serving, broken], { owners: [{ ...place, wanted: 3, available: 2 }] });
    const refusal = { cause, attempts: 1, retryAt: now + 1000, message: words };
    const begun = decided({ ...facts, owners: ownedBy(3) });
    const { state, memory } = begun;
    const refusals = new Map(refused.map(({ uid }) => [uid, refusal]));
    const late = { ...facts, state, owners: ownedBy(3), memory: { ...memory, refusals }, now: now + 601_000 };
    return condition(decided(late), 'Stalled').message;
  };

  for (const refused of [[broken], [serving[0] ?? broken, broken]]) {
    it(`advises what lets the Pod go that is not Ready, where ${refused.length} are refused`, () => {
      const words = 'The disruption budget web needs 3 healthy pods and has 2 currently';
      assert.match(
        message('Budget', words, refused),
        /: The disruption .* currently; unhealthyPodEvictionPolicy/,
      );
    });
  }

  it('says in a sentence which right is missing', () => {
    assert.match(
      message('Forbidden', 'delete pods', [broken]),
      /whole deadline; the operator may not delete pods here$/,
    );
  });
});
