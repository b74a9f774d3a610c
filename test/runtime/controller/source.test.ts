import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { enqueueRequestForObject } from '../../../src/runtime/controller/event-handler.ts';
import {
  and,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
} from '../../../src/runtime/controller/predicate.ts';
import { type InformerSourceOptions, informerSource } from '../../../src/runtime/controller/source.ts';
import { FakeClock } from '../../fake/clock.ts';
import { FakeInformer, recordingLogger, type Widget, widget, widgets } from './fixtures.ts';

function start(options: Partial<InformerSourceOptions<Widget>> = {}) {
  const informer = new FakeInformer(widgets);
  const log = recordingLogger();
  const stop = new AbortController();
  const enqueued: string[] = [];
  const clock = new FakeClock();
  const source = informerSource({ informer, clock, handler: enqueueRequestForObject, ...options });
  source.start(({ name }, { priority }) => enqueued.push(`${name} ${priority}`), log, stop.signal);
  return { source, informer, clock, log, stop, enqueued };
}

const bang = () => {
  throw new TypeError('boom');
};

/** A callback that is async by mistake. */
const rejects = () => Promise.reject(new Error('boom')) as never;

describe('informerSource', () => {
  it('puts the initial list at −100 and everything else at 0', () => {
    const { informer, enqueued } = start();
    informer.sync(widget('a'));
    informer.add(widget('b'));
    informer.update(widget('c'), widget('c', { resourceVersion: '2' }));
    informer.remove(widget('d'));
    assert.deepEqual(enqueued, ['a -100', 'b 0', 'c 0', 'd 0']);
  });

  it('puts updates that bring nothing new at −100', () => {
    const { informer, enqueued } = start();
    informer.update(widget('a'), widget('a'));
    assert.deepEqual(enqueued, ['a -100']);
  });

  it('asks the priority function about every event, and tells it what is initial', () => {
    const { informer, enqueued } = start({
      priority: ({ spec }, { initial }) => (spec?.size ?? 0) + (initial ? -1000 : 0),
    });
    const due = { ...widget('due'), spec: { size: 100 } };
    informer.sync(due);
    informer.update(due, { ...due, metadata: { ...due.metadata, resourceVersion: '2' } });
    informer.remove(due);
    assert.deepEqual(enqueued, ['due -900', 'due 100', 'due 100']);
  });

  it('enqueues only what all predicates let pass', () => {
    const { informer, enqueued } = start({
      predicates: [generationChanged, ({ object }) => object.metadata.name !== 'b'],
    });
    informer.add(widget('a'));
    informer.add(widget('b'));
    informer.update(widget('a'), widget('a', { resourceVersion: '2' }));
    assert.deepEqual(enqueued, ['a 0']);
  });

  const marked = { deletionTimestamp: '2024-01-01T00:00:00Z', resourceVersion: '2' };
  const never = () => false;
  const predicates: readonly { readonly name: string; readonly predicate: Predicate<Widget> }[] = [
    { name: 'generationChanged', predicate: generationChanged },
    { name: 'labelsChanged', predicate: labelsChanged },
    { name: 'one that lets nothing pass', predicate: never },
    { name: 'and', predicate: and(generationChanged, never) },
    { name: 'or', predicate: or(never, never) },
    { name: 'not', predicate: not(generationChanged) },
    { name: 'not of or', predicate: not(or(labelsChanged, generationChanged)) },
  ];
  for (const { name, predicate } of predicates) {
    it(`a change of deletionTimestamp passes ${name}`, () => {
      const { informer, enqueued } = start({ predicates: [predicate] });
      informer.update(widget('a'), widget('a', marked));
      informer.update(
        widget('a', marked),
        widget('a', { ...marked, deletionTimestamp: '2023-12-31T23:59:00Z', resourceVersion: '3' }),
      );
      assert.deepEqual(enqueued, ['a 0', 'a 0']);
      informer.update(widget('a', marked), widget('a', { ...marked, resourceVersion: '4' }));
      const isTurnedRound = name.startsWith('not');
      assert.equal(enqueued.length, isTurnedRound ? 3 : 2, 'what stays marked is asked about');
    });
  }

  it('ends with the signal', () => {
    const { informer, stop, enqueued } = start();
    stop.abort();
    informer.add(widget('a'));
    assert.deepEqual([enqueued, informer.handlers.size], [[], 0]);
  });

  it('does not begin when the signal is aborted already', () => {
    const informer = new FakeInformer(widgets);
    informerSource({ informer, clock: new FakeClock(), handler: enqueueRequestForObject }).start(
      () => assert.fail('enqueued'),
      recordingLogger(),
      AbortSignal.abort(),
    );
    assert.equal(informer.handlers.size, 0);
  });

  it('waits for its informer', async () => {
    const { source, informer } = start();
    let synced = false;
    const waiting = source.waitForSync(new AbortController().signal).then(() => {
      synced = true;
    });
    await Promise.resolve();
    assert.equal(synced, false);
    informer.sync();
    await waiting;
  });

  it('I21: an object that no function can cope with stops nothing', () => {
    const rows = [
      { name: 'predicate', options: { predicates: [bang] }, expected: ['a 0', 'b 0'] },
      { name: 'priority function', options: { priority: bang }, expected: ['a 0', 'b 0'] },
      { name: 'priority function', options: { priority: () => Number.NaN }, expected: ['a 0', 'b 0'] },
      { name: 'event handler', options: { handler: bang }, expected: [] },
      { name: 'event handler', options: { handler: () => undefined as never }, expected: [] },
      { name: 'event handler', options: { handler: () => [undefined] as never }, expected: [] },
      { name: 'event handler', options: { handler: () => [{ name: 'x' }] as never }, expected: [] },
      { name: 'event handler', options: { handler: rejects }, expected: [] },
      { name: 'predicate', options: { predicates: [rejects] }, expected: ['a 0', 'b 0'] },
      { name: 'predicate', options: { predicates: [or(rejects)] }, expected: ['a 0', 'b 0'] },
      { name: 'priority function', options: { priority: rejects }, expected: ['a 0', 'b 0'] },
      {
        name: 'priority function',
        options: { priority: () => Symbol('s') as never },
        expected: ['a 0', 'b 0'],
      },
    ];
    for (const { name, options, expected } of rows) {
      const { informer, log, clock, enqueued } = start(options);
      informer.add(widget('a'));
      informer.add(widget('b'));
      assert.deepEqual(enqueued, expected, name);
      assert.deepEqual(
        log.lines.map(({ level, fields }) => [level, fields.callback, fields.kind, fields.key]),
        [['error', name, 'Widget', 'default/a']],
      );
      clock.advance(60_000);
      informer.add(widget('c'));
      assert.deepEqual(
        log.lines.slice(1).map(({ fields }) => [fields.callback, fields.key, fields.suppressed]),
        [[name, 'default/c', 1]],
      );
    }
  });
});
