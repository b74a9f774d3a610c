import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers } from '../../../src/api/resources.ts';
import { StateStore } from '../../../src/configwatcher/act/state-store.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { FakeClock } from '../../fake/clock.ts';
import { applied, watching } from '../../fixtures/configwatcher.ts';

const notFound = () => Promise.reject(new ApiError('not found', 404, { reason: 'NotFound' }));
const page = () => Promise.reject(new ApiError('404 page not found', 404, {}));
const { signal } = new AbortController();

async function write(answers: Partial<Client>) {
  const store = new StateStore(configWatchers, answers as Client, new FakeClock());
  const written = await store.write(watching(), applied(), signal);
  return { written, hasStatus: store.hasStatus };
}

/** Answers a GET with a watcher of this uid. */
function finds(uid: string | undefined): Pick<Client, 'get'> {
  const watcher = watching();
  const metadata = { ...watcher.metadata, ...(uid !== undefined && { uid }) };
  return { get: async () => ({ ...watcher, metadata }) as never };
}

describe('StateStore, told that there is nothing to write a status to', () => {
  it('writes an annotation where the watcher is there: the CRD has no status', async () => {
    const patches: unknown[] = [];
    const patch = async (...call: unknown[]) => {
      patches.push(call);
      return { metadata: { resourceVersion: '8' } } as never;
    };
    const result = await write({ updateStatus: notFound, ...finds(undefined), patch });
    assert.deepEqual([result, patches.length], [{ written: { version: '8' }, hasStatus: false }, 1]);
  });

  it('does nothing where the watcher is gone', async () => {
    const result = await write({ updateStatus: notFound, get: notFound });
    assert.deepEqual(result, { written: 'Gone', hasStatus: true });
  });

  it('does nothing where another one of that name is there by now', async () => {
    const result = await write({ updateStatus: notFound, ...finds('another') });
    assert.deepEqual(result, { written: 'Gone', hasStatus: true });
  });

  it('tries again after a page of a proxy, which proves neither', async () => {
    await assert.rejects(write({ updateStatus: page, get: page }), /page not found/);
    await assert.rejects(write({ updateStatus: page, ...finds(undefined) }), /page not found/);
    await assert.rejects(write({ updateStatus: notFound, get: page }), /page not found/);
  });
});

describe('StateStore, told whether there is a status', () => {
  const state = applied();
  const status = writeState(state);
  const annotations = { 'k8spatterns.io/observed': JSON.stringify(status) };
  const { metadata, ...rest } = watching();
  const inStatus = { ...rest, metadata, status };
  const inAnnotation = { ...rest, metadata: { ...metadata, annotations } };

  it('takes the state for stored only where it belongs', () => {
    const store = new StateStore(configWatchers, {} as Client, new FakeClock());
    for (const [hasStatus, expected] of [
      [true, [true, false]],
      [false, [false, true]],
      [true, [true, false]],
    ] as const) {
      store.learn(hasStatus);
      const stored = [inStatus, inAnnotation].map((watcher) => store.isStored(watcher, state));
      assert.deepEqual([store.hasStatus, stored], [hasStatus, expected]);
    }
  });
});
