import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { DepartedPods } from '../../../src/at/facts/departed-pods.ts';
import type { KubernetesObject, Pod } from '../../../src/kubernetes/objects.ts';
import type { Informer, InformerHandler } from '../../../src/runtime/cache/informer.ts';
import {
  created,
  dueTime,
  failed,
  finished,
  launched,
  ownedBy,
  started,
  succeeded,
  targeted,
  terminating,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

/** An informer whose handlers the test calls. */
class Hand<T extends KubernetesObject> {
  object: T | undefined;
  readonly handlers: InformerHandler<T>[] = [];
  readonly informer = {
    lister: { get: () => this.object },
    addHandler: (handler: InformerHandler<T>) => this.handlers.push(handler),
  } as unknown as Informer<T>;

  added(object: T): void {
    this.object = object;
    for (const { onAdd } of this.handlers) onAdd?.(object, false);
  }

  gone(object: T): void {
    for (const { onDelete } of this.handlers) onDelete?.(object);
  }

  shown(object: T): void {
    for (const { onUpdate } of this.handlers) onUpdate?.(this.object ?? object, object);
    this.object = object;
  }
}

function watching(at: At) {
  const [pods, ats] = [new Hand<Pod>(), new Hand<At>()];
  ats.object = at;
  return { pods, ats, departed: new DepartedPods(pods.informer, ats.informer) };
}

describe('the Pods that went away', () => {
  const at = launched({ disruptionPolicy: 'Retry' });
  const pod = succeeded(created(at));

  it('are kept as they were shown last, until the end stands in status', () => {
    const { pods, ats, departed } = watching(at);
    pods.gone(pod);
    assert.deepEqual(departed.of(at), [pod]);
    ats.shown({ ...at, spec: { ...at.spec, cancel: true } });
    assert.deepEqual(departed.of(at), [pod]);
    ats.shown(finished());
    assert.equal(departed.size, 0);
  });

  it('are kept of a launch that status does not show yet', () => {
    const { pods, departed } = watching(waiting());
    pods.gone(pod);
    assert.deepEqual(departed.of(at), [pod]);
  });

  it('are kept as a read has shown them, once each, and never for an At that is DONE', () => {
    const { ats, departed } = watching(at);
    departed.keep(started(created(at)));
    departed.keep(pod);
    assert.deepEqual(departed.of(at), [pod]);
    ats.shown(finished());
    departed.keep(pod);
    assert.equal(departed.size, 0);
  });

  it('are forgotten with their At, and when another attempt is recorded', () => {
    for (const end of ['gone', 'next']) {
      const { pods, ats, departed } = watching(at);
      pods.gone(pod);
      if (end === 'gone') ats.gone(at);
      else ats.shown(withStatus(at, { ...at.status, attempts: 2 }));
      assert.equal(departed.size, 0, end);
    }
  });

  it('are not kept of an At that is over, of another owner, nor when they never ran', () => {
    const over = watching(finished());
    over.pods.gone(pod);
    const foreign = watching(at);
    foreign.pods.gone({
      ...pod,
      metadata: {
        ...pod.metadata,
        ownerReferences: [
          { apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid: 'a-job', controller: true },
        ],
      },
    });
    const unknown = watching(waiting());
    unknown.pods.gone(ownedBy(pod, undefined));
    const once = launched({ launchGuarantee: 'ExactlyOnce' });
    const gated = watching(once);
    gated.pods.gone(created(once));
    const all = [over, foreign, unknown, gated];
    assert.deepEqual(
      all.map(({ departed }) => departed.size),
      [0, 0, 0, 0],
    );
  });

  it('are kept of an At that its own watch shows later, also under the name of an earlier one', () => {
    for (const earlier of [undefined, { ...at, metadata: { ...at.metadata, uid: 'earlier' } }]) {
      const { pods, ats, departed } = watching(waiting());
      ats.object = earlier;
      pods.gone(pod);
      // A list may show another At of the name in place of one whose end the watch has missed.
      if (earlier === undefined) ats.added(waiting());
      else ats.shown(waiting());
      assert.deepEqual(departed.of(at), [pod]);
      ats.shown(finished());
      assert.equal(departed.size, 0);
    }
  });

  it('are kept as they ended before they were deleted', () => {
    for (const isFirstSight of [true, false]) {
      const { pods, departed } = watching(at);
      const ended = failed(created(at));
      pods.object = started(created(at));
      if (isFirstSight) pods.added(ended);
      else pods.shown(ended);
      const deleted = terminating(ended, dueTime);
      pods.shown(deleted);
      pods.gone(deleted);
      assert.deepEqual(departed.of(at), [ended]);
    }
    const { pods: others, departed: ofOthers } = watching(at);
    const end = failed(created(at));
    others.object = started(created(at));
    others.shown(end);
    ofOthers.keep(targeted(end));
    others.gone(terminating(targeted(end), dueTime));
    assert.deepEqual(ofOthers.of(at), [end], 'an eviction changes nothing about it');
    const { pods, departed } = watching(at);
    const deleted = terminating(failed(created(at)), dueTime);
    pods.shown(deleted);
    pods.gone(deleted);
    assert.deepEqual(departed.of(at), [deleted]);
  });

  it('are kept of the last 500 Ats that are not shown', () => {
    const { pods, ats, departed } = watching(waiting());
    ats.object = undefined;
    const uids = Array.from({ length: 501 }, (_, index) => `uid-${index}`);
    for (const uid of uids) pods.gone(ownedBy(pod, uid));
    const isKept = (uid: string) => {
      const its = { ...at, metadata: { ...at.metadata, uid } };
      ats.added(its);
      return departed.of(its).length === 1;
    };
    assert.deepEqual(
      uids.filter((uid) => !isKept(uid)),
      ['uid-0'],
    );
  });

  it('are kept once each, as shown last, when their owner is taken away and given back before', () => {
    const pending = waiting();
    const { pods, departed } = watching(pending);
    const running = started(created(pending));
    pods.object = running;
    for (const state of [ownedBy(running, undefined), running, ownedBy(running, undefined)])
      pods.shown(state);
    assert.deepEqual(departed.of(pending), [running]);
    const ended = ownedBy(succeeded(running), undefined);
    pods.shown(ended);
    pods.gone(ended);
    assert.deepEqual(departed.of(pending), [ended]);
  });

  it('are kept without an owner where status names them', () => {
    const { pods, departed } = watching(at);
    pods.gone(ownedBy(pod, undefined));
    assert.equal(departed.size, 1);
  });
});
