import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { awaitSync, type StartupProblem } from '../../../src/runtime/manager/cache-sync.ts';
import { assertPermitted, reachApiServer } from '../../../src/runtime/manager/startup.ts';
import { FakeClock, settle } from '../../fake/clock.ts';

const server = 'https://10.0.0.1:6443';
const installCommand = 'kubectl apply --server-side -k crds';

function world() {
  const clock = new FakeClock();
  const never = new AbortController();
  return { clock, never, options: { clock, log: silentLogger, server, installCommand } };
}

/** Follows a promise without awaiting it. */
function follow(work: Promise<unknown>) {
  const state = { done: false, error: '' };
  work.then(
    () => {
      state.done = true;
    },
    (error: Error) => {
      state.error = `${error.name}: ${error.message}`;
    },
  );
  return state;
}

function systemError(code: string): TransportError {
  const cause = Object.assign(new Error(`connect ${code} 10.0.0.1:6443`), { code });
  return new TransportError(`GET ${server}/version: ${cause.message}`, false, { cause });
}

function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError(message, code, { kind: 'Status', code, reason, message });
}

function answering(answer: () => unknown): Client {
  return { getRaw: async () => answer() } as unknown as Client;
}

describe('reachApiServer', () => {
  const refused = () => {
    throw systemError('ECONNREFUSED');
  };

  it('resolves with the first answer', async () => {
    const { clock, options, never } = world();
    let away = true;
    const client = answering(() => (away ? refused() : {}));
    const state = follow(reachApiServer(client, options, never.signal));
    await clock.advanceAsync(29_000);
    assert.deepEqual(state, { done: false, error: '' });
    away = false;
    await clock.advanceAsync(1000);
    assert.equal(state.done, true);
    assert.equal(clock.pendingTimers, 0);
  });

  it('gives up after 30 s with a sentence that says what to do', async () => {
    const { clock, options, never } = world();
    const state = follow(reachApiServer(answering(refused), options, never.signal));
    await clock.advanceAsync(29_999);
    assert.equal(state.error, '');
    await clock.advanceAsync(1000);
    assert.equal(
      state.error,
      `ManagerError: cannot reach the API server at ${server}: connection refused; check KUBECONFIG and that the cluster is running`,
    );
  });

  it('names other reasons in words too, and unknown ones as they are', async () => {
    const rows = [
      { error: systemError('ENOTFOUND'), words: /10\.0\.0\.1:6443: no such host; check/ },
      {
        error: new TransportError('self-signed certificate', false),
        words: /: self-signed certificate; check/,
      },
      { error: apiError(503, 'ServiceUnavailable', 'starting up'), words: /: starting up; check/ },
    ];
    for (const { error, words } of rows) {
      const { clock, options, never } = world();
      const client = answering(() => {
        throw error;
      });
      const state = follow(reachApiServer(client, options, never.signal));
      await clock.advanceAsync(31_000);
      assert.match(state.error, words);
    }
  });

  it('says soon that the credentials are not accepted', async () => {
    const { clock, options, never } = world();
    const client = answering(() => {
      throw apiError(401, 'Unauthorized');
    });
    const state = follow(reachApiServer(client, options, never.signal));
    await clock.advanceAsync(4000);
    assert.equal(state.error, '');
    await clock.advanceAsync(1500);
    assert.match(state.error, /does not accept the credentials: Unauthorized/);
  });

  it('takes a 403 for an answer', async () => {
    const { options, never } = world();
    const client = answering(() => {
      throw apiError(403, 'Forbidden');
    });
    await reachApiServer(client, options, never.signal);
  });

  it('ends with the signal', async () => {
    const { clock, options, never } = world();
    const state = follow(reachApiServer(answering(refused), options, never.signal));
    await clock.advanceAsync(1000);
    never.abort(new Error('stopped'));
    await settle();
    assert.equal(state.error, 'Error: stopped');
    assert.equal(clock.pendingTimers, 0);
  });
});

describe('awaitSync', () => {
  const notServed: StartupProblem = {
    reason: 'NotServed',
    message: 'ats.example.com (v1) is not served: its CustomResourceDefinition is not installed',
  };
  const forbidden: StartupProblem = {
    reason: 'Forbidden',
    message: 'pods cannot be watched: User "u" cannot list resource "pods"',
  };
  const unreachable: StartupProblem = { reason: 'Unreachable', message: 'pods cannot be watched: cut' };

  function syncing() {
    const { clock, options } = world();
    const problems: StartupProblem[] = [];
    const synced = Promise.withResolvers<void>();
    const state = follow(awaitSync(synced.promise, () => problems, options));
    return { clock, problems, synced, state };
  }

  it('resolves with the sync and leaves no timer behind', async () => {
    const { clock, synced, state } = syncing();
    await clock.advanceAsync(60_000);
    synced.resolve();
    await settle();
    assert.equal(state.done, true);
    assert.equal(clock.pendingTimers, 0);
  });

  it('passes on a failure of the warm-up', async () => {
    const { synced, state } = syncing();
    synced.reject(new Error('no warmth'));
    await settle();
    assert.equal(state.error, 'Error: no warmth');
  });

  it('says how to install what is not served', async () => {
    const { clock, problems, state } = syncing();
    problems.push(notServed);
    await clock.advanceAsync(4500);
    assert.equal(state.error, '');
    await clock.advanceAsync(1000);
    assert.equal(state.error, `ManagerError: ${notServed.message}; install it with: ${installCommand}`);
  });

  it('says each thing once', async () => {
    const { clock, problems, state } = syncing();
    problems.push(notServed, notServed, unreachable);
    await clock.advanceAsync(6000);
    assert.equal(state.error, `ManagerError: ${notServed.message}; install it with: ${installCommand}`);
  });

  it('names the verb and the resource of a missing right', async () => {
    const { clock, problems, state } = syncing();
    problems.push(forbidden);
    await clock.advanceAsync(6000);
    assert.equal(state.error, `ManagerError: ${forbidden.message}; grant it by a Role or ClusterRole`);
  });

  it('waits for a CRD or a Role that comes a moment later', async () => {
    const { clock, problems, synced, state } = syncing();
    for (let round = 0; round < 5; round++) {
      problems.push(notServed);
      await clock.advanceAsync(4000);
      problems.length = 0;
      await clock.advanceAsync(1000);
    }
    assert.equal(state.error, '');
    synced.resolve();
    await settle();
    assert.equal(state.done, true);
  });

  it('gives up after 2 minutes of anything else, and says what', async () => {
    const { clock, problems, state } = syncing();
    problems.push(unreachable);
    await clock.advanceAsync(119_000);
    assert.equal(state.error, '');
    await clock.advanceAsync(2000);
    assert.equal(
      state.error,
      `ManagerError: the caches were not filled within 120 s: ${unreachable.message}`,
    );
  });
});

describe('awaitSync: progress', () => {
  it('waits as long as objects come in, and 2 minutes after the last of them', async () => {
    const { clock, options } = world();
    const progress = { loaded: 0 };
    const state = follow(
      awaitSync(
        new Promise(() => {}),
        () => [],
        options,
        () => progress.loaded,
      ),
    );
    for (let minute = 0; minute < 30; minute++) {
      await clock.advanceAsync(60_000);
      progress.loaded++;
    }
    await clock.advanceAsync(119_000);
    assert.equal(state.error, '');
    await clock.advanceAsync(2000);
    assert.equal(
      state.error,
      'ManagerError: the caches were not filled within 120 s after their last progress: no answer',
    );
  });

  it('what was loaded before is no progress', async () => {
    const { clock, options } = world();
    let loaded = 100;
    const cacheSyncTimeout = 10_000;
    const work = awaitSync(
      new Promise(() => {}),
      () => [],
      { ...options, cacheSyncTimeout },
      () => loaded,
    );
    const state = follow(work);
    for (let step = 0; step < 9; step++) {
      loaded = 100 - loaded;
      await clock.advanceAsync(1000);
    }
    assert.equal(state.error, '');
    await clock.advanceAsync(2000);
    assert.equal(state.error, 'ManagerError: the caches were not filled within 10 s: no answer');
  });
});

describe('assertPermitted', () => {
  const forbidden = apiError(403, 'Forbidden', 'User "u" cannot get resource "leases"');

  it('says after a moment which right is missing', async () => {
    const { clock, options, never } = world();
    const state = follow(assertPermitted(() => Promise.reject(forbidden), options, never.signal));
    await clock.advanceAsync(4000);
    assert.equal(state.error, '');
    await clock.advanceAsync(1500);
    assert.equal(state.error, `ManagerError: ${forbidden.message}; grant it by a Role or ClusterRole`);
  });

  it('leaves every other failure to those who use it later', async () => {
    const { options, never } = world();
    await assertPermitted(() => Promise.reject(apiError(404, 'NotFound')), options, never.signal);
    await assertPermitted(() => Promise.reject(systemError('ECONNRESET')), options, never.signal);
  });
});
