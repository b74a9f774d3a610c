import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Informers } from '../../../src/runtime/cache/informers.ts';
import { LoadProgress } from '../../../src/runtime/cache/load-progress.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { ScriptedClient } from './scripted-client.ts';
import { added, initialEventsEnd, widgets } from './widget.ts';

describe('LoadProgress', () => {
  it('is that of the load that came furthest: what comes a second time is no progress', () => {
    const progress = new LoadProgress();
    const load = (objects: number) => {
      progress.begin();
      for (let count = 0; count < objects; count++) progress.took();
      return progress.most;
    };
    assert.deepEqual([load(3), load(2), load(3), load(5)], [3, 3, 3, 5]);
  });

  it('is seen in the informers, before a load is complete and when an empty one is', async () => {
    const clock = new FakeClock();
    const client = new ScriptedClient();
    const stop = new AbortController();
    const informers = new Informers({ client, clock, log: silentLogger, namespaces: [], random: () => 0.5 });
    informers.informerFor(widgets);
    informers.start(stop.signal);
    assert.equal(informers.loaded, 0);
    const watch = await client.nextWatch();
    await watch.accept(added({ name: 'a' }), added({ name: 'b' }));
    await settle();
    assert.deepEqual([informers.loaded, informers.hasSynced], [2, false]);
    await watch.send(initialEventsEnd(7));
    await settle();
    assert.deepEqual([informers.loaded, informers.hasSynced], [3, true]);
    stop.abort(new Error('stop'));
    await settle();
  });
});
