import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Verdict, Webhook } from '../../../src/testing/api-server/admission/webhooks.ts';
import type { Fault } from '../../../src/testing/api-server/faults.ts';
import { admin, configMaps, create, send, world } from './servers.ts';

const body = { metadata: { name: 'c' } };

function webhook(verdict: Verdict, options: Partial<Webhook> = {}): Webhook {
  return { name: 'check.example.com', call: () => verdict, ...options };
}

describe('a webhook', () => {
  const asked = (verdict: Verdict, options: Partial<Webhook> = {}) => {
    const { clock, server } = world();
    const api = server('api');
    api.webhooks.push(webhook(verdict, options));
    return { clock, api };
  };

  test('denies in its own words', () => {
    const { api } = asked({ kind: 'deny', message: 'not on Fridays' });
    const { answered, body: status } = send(api, 'POST', configMaps, body);
    assert.equal(answered?.code, 403);
    assert.equal(status.message, 'admission webhook "check.example.com" denied the request: not on Fridays');
    assert.equal(send(api, 'GET', `${configMaps}/c`).answered?.code, 404);
  });

  test('that cannot be called is an error of the server, or ignored', () => {
    const verdict = { kind: 'fail', why: 'Post "https://check": connection refused' } as const;
    const { answered, body: status } = send(asked(verdict).api, 'POST', configMaps, body);
    assert.equal(answered?.code, 500);
    assert.match(status.message, /^Internal error occurred: failed calling webhook "check\.example\.com": /);
    const { api } = asked(verdict, { failurePolicy: 'Ignore' });
    assert.equal(send(api, 'POST', configMaps, body).answered?.code, 201);
  });

  test('that hangs fails at its own time limit', () => {
    const { api, clock } = asked({ kind: 'hang' }, { timeoutSeconds: 3 });
    const write = send(api, 'POST', configMaps, body);
    clock.advance(2999);
    assert.ok(!write.isAnswered);
    clock.advance(1);
    assert.match(write.body.message, /context deadline exceeded$/);
    assert.equal(write.answered?.code, 500);
  });

  test('that hangs longer than the request waits is a timeout, and nothing is stored', () => {
    const { api, clock } = asked({ kind: 'hang' });
    const write = send(api, 'POST', `${configMaps}?timeout=4s`, body);
    clock.advance(4000);
    assert.equal(write.answered?.code, 504);
    assert.equal(write.body.reason, 'Timeout');
    clock.advance(60_000);
    assert.equal(send(api, 'GET', `${configMaps}/c`).answered?.code, 404);
    assert.equal(api.request(admin, 'POST', configMaps, body).code, 504);
  });

  test('that takes its time is asked again with what is stored by then', () => {
    const { api, clock } = asked({ kind: 'slow', ms: 1500, finally: { kind: 'allow' } });
    const [first, second] = [send(api, 'POST', configMaps, body), send(api, 'POST', configMaps, body)];
    clock.advance(1500);
    assert.deepEqual([first.answered?.code, second.answered?.code], [201, 409]);
  });
});

test('a policy refuses with its name', () => {
  const { server } = world();
  const api = server('api');
  api.policies.push({
    name: 'no-secrets',
    binding: 'everywhere',
    deny: ({ name }) => (name === 'c' ? 'too short' : undefined),
  });
  const { answered, body: status } = send(api, 'POST', configMaps, body);
  assert.equal(answered?.code, 422);
  assert.equal(
    status.message,
    `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'no-secrets' with binding 'everywhere' denied request: too short`,
  );
  assert.ok(create(api, 'long') > 0);
});

describe('a fault', () => {
  const faulty = (fault: Fault) => {
    const { clock, server } = world();
    const api = server('api');
    api.intercept = ({ method }) => (method === 'POST' ? fault : undefined);
    const write = send(api, 'POST', `${configMaps}?timeout=4s`, body);
    const isDone = () => send(api, 'GET', `${configMaps}/c`).answered?.code === 200;
    return { clock, write, isDone };
  };

  for (const commit of [false, true]) {
    test(`of time answers at the limit of the request, which is ${commit ? '' : 'not '}done`, () => {
      const { clock, write, isDone } = faulty({ kind: 'timeout', commit });
      assert.ok(!write.isAnswered);
      clock.advance(4000);
      assert.equal(write.answered?.code, 504);
      const { kind, apiVersion, reason } = write.body;
      assert.deepEqual([kind, apiVersion, reason], [undefined, undefined, 'Timeout']);
      assert.equal(isDone(), commit);
    });
  }

  test('of the connection cuts it before or after the write', () => {
    for (const when of ['before', 'after'] as const) {
      const { write, isDone } = faulty({ kind: 'cut', when });
      assert.ok(write.isCut);
      assert.equal(isDone(), when === 'after');
    }
  });

  test('of the server says what it is told to', () => {
    const { write } = faulty({ kind: 'status', code: 503, text: 'no healthy upstream' });
    assert.deepEqual([write.answered?.code, write.answered?.body], [503, 'no healthy upstream']);
  });

  test('delays', () => {
    const { clock, write } = faulty({ kind: 'delay', ms: 100 });
    assert.ok(!write.isAnswered);
    clock.advance(100);
    assert.equal(write.answered?.code, 201);
  });
});

test('writes beyond the seats are turned away with a time to come back', () => {
  const { clock, server } = world();
  const api = server('api');
  api.seats = { count: 1, duration: 50, retryAfter: 7 };
  const [first, second] = [send(api, 'POST', configMaps, body), send(api, 'POST', configMaps, body)];
  assert.equal(second.answered?.code, 429);
  assert.equal(second.answered?.headers['retry-after'], '7');
  clock.advance(50);
  assert.equal(first.answered?.code, 201);
});

test('an actor gets the same answers at once, and every request is told with its answer', () => {
  const { server } = world();
  const api = server('api');
  const told: string[] = [];
  api.onRequest(({ user, method, path }, { code }) => told.push(`${user} ${method} ${path} ${code}`));
  const created = api.request(admin, 'POST', configMaps, body);
  assert.equal(created.code, 201);
  assert.equal(api.request('jane', 'GET', `${configMaps}/c`).code, 403);
  const patched = api.request(admin, 'PATCH', `${configMaps}/c?dryRun=All`, { data: { a: '1' } });
  assert.deepEqual(JSON.parse(patched.body).data, { a: '1' });
  const version = JSON.parse(created.body).metadata.resourceVersion;
  assert.equal(api.request(admin, 'GET', `${configMaps}?resourceVersion=${Number(version) + 5}`).code, 504);
  assert.deepEqual(told, [
    `system:admin POST ${configMaps} 201`,
    `jane GET ${configMaps}/c 403`,
    `system:admin PATCH ${configMaps}/c 200`,
    `system:admin GET ${configMaps} 504`,
  ]);
});

test('the same requests at the same times give the same answers', () => {
  const life = () => {
    const { clock, server } = world();
    const api = server('api');
    const answers: string[] = [];
    api.onRequest((_, answer) => answers.push(JSON.stringify(answer)));
    const watch = send(api, 'GET', `${configMaps}?watch=1&allowWatchBookmarks=true`);
    for (let i = 0; i < 20; i++) {
      send(api, 'POST', configMaps, { metadata: { generateName: 'c-' } });
      clock.advance(30_000);
    }
    return [...answers, watch.text];
  };
  assert.deepEqual(life(), life());
});
