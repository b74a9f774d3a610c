import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Informers, type InformersOptions } from '../../../src/runtime/cache/informers.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { ScriptedClient } from './scripted-client.ts';
import { widgets } from './widget.ts';

const clusterWide = { ...widgets, plural: 'gadgets', namespaced: false };
let controller: AbortController;

function informersOf(options: Partial<InformersOptions>): Informers {
  controller = new AbortController();
  return new Informers({
    ...{ client: new ScriptedClient(), clock: new FakeClock(), log: silentLogger, namespaces: [] },
    random: () => 0.5,
    ...options,
  });
}

afterEach(async () => {
  controller.abort(new Error('stop'));
  await settle();
});

describe('the watches of informers', () => {
  it('are counted: one for each namespace, or for all of them', () => {
    const everywhere = informersOf({});
    everywhere.informerFor(widgets);
    everywhere.informerFor(widgets);
    everywhere.informerFor(widgets, { labelSelector: 'a' });
    everywhere.informerFor(clusterWide);
    assert.equal(everywhere.watches, 3);
    const somewhere = informersOf({ namespaces: ['a', 'b', 'b'] });
    somewhere.informerFor(widgets);
    somewhere.informerFor(clusterWide);
    assert.equal(somewhere.watches, 3);
  });

  it('may be for other namespaces than the default ones, which makes another informer', () => {
    const informers = informersOf({ namespaces: ['a'] });
    const inA = informers.informerFor(widgets);
    assert.equal(informers.informerFor(widgets, { namespaces: ['a'] }), inA);
    const inBoth = informers.informerFor(widgets, { namespaces: ['b', 'a'] });
    assert.notEqual(inBoth, inA);
    assert.equal(informers.informerFor(widgets, { namespaces: ['a', 'b', 'a'] }), inBoth);
    assert.equal(informers.watches, 3);
    informers.informerFor(widgets, { namespaces: [] });
    assert.equal(informers.watches, 4);
    informers.informerFor(clusterWide, { namespaces: ['a', 'b'] });
    assert.equal(informers.watches, 5);
  });

  it('that are more than there are connections are refused at the start, with the limit', () => {
    const informers = informersOf({ namespaces: ['a', 'b', 'c'], maxWatches: 3 });
    informers.informerFor(widgets);
    informers.informerFor(clusterWide);
    assert.throws(
      () => informers.start(controller.signal),
      /^RangeError: the informers need 4 watches, and maxWatches allows 3; raise it, or watch/,
    );
  });

  it('that come later are refused before they are made', () => {
    const informers = informersOf({ namespaces: ['a', 'b', 'c'], maxWatches: 3 });
    informers.informerFor(widgets);
    informers.start(controller.signal);
    assert.throws(() => informers.informerFor(clusterWide), /need 4 watches, and maxWatches allows 3/);
    assert.equal(informers.watches, 3);
    informers.informerFor(widgets);
  });
});
