/**
 * The whole operator of Ats on an API server that fails: each way in which a write can fail at each write of a
 * life, and each way in which a watch can break all through it. The end has to be that of a life without faults.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { events } from '../../src/runtime/events/event.ts';
import type { ApiWatch } from '../../src/testing/api-server/api-watch.ts';
import { expired } from '../../src/testing/api-server/failure.ts';
import type { Fault, FaultMatch } from '../../src/testing/api-server/faults.ts';
import { FakeApiServer, type RecordedRequest } from '../fake/api-server.ts';
import { connectTo } from '../fake/connection.ts';
import { type AtStory, atStories, numbered, writeName } from '../fixtures/at-stories.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { AtRig } from '../integration/at-rig.ts';
import { eventually } from '../integration/support.ts';

const timeout = 240_000;
/** Most of a life is waiting. */
const livesAtATime = 120;

interface Life {
  /** In the order of arrival. */
  readonly writes: readonly RecordedRequest[];
  readonly podsCreated: number;
  readonly podsDeleted: number;
  readonly last: At;
  /** The reasons of its Events. */
  readonly told: ReadonlySet<string>;
}

/** What disturbs a life, from its beginning on. Returns what ends that. */
type Disturbance = (server: FakeApiServer) => () => void;

function isOperators({ headers, method }: RecordedRequest): boolean {
  return method !== 'GET' && headers['user-agent'] === 'atwatch-test';
}

/** What there is to know of a disturbed life. */
interface Trouble {
  readonly when: string;
  readonly disturb: Disturbance;
  /** Whether the Pod may go untried: a lost answer to the acceptance is no reason to try them all again. */
  readonly untried?: boolean;
}

const fineWeather: Trouble = { when: 'undisturbed', disturb: () => () => {} };

async function live(story: AtStory, { when, disturb, untried = false }: Trouble): Promise<Life> {
  const server = await FakeApiServer.start({ resources: [{ ...ats }, { ...events, status: false }] });
  const connection = connectTo(server);
  const rig = new AtRig(connection.client, server.kubeConfig(), 'default');
  const counts = { ADDED: 0, MODIFIED: 0, DELETED: 0 };
  let last: At = { metadata: { name: '' }, spec: { schedule: '' } };
  let isGone = false;
  server.store.onChange(({ type, resource, object }) => {
    if (resource.plural === pods.plural) counts[type] += 1;
    if (resource.plural !== ats.plural) return;
    last = object as At;
    isGone = type === 'DELETED';
  });
  const writes = () => server.requests.filter(isOperators);
  const isTried = () => untried || writes().some(({ query }) => query.has('dryRun'));
  try {
    // A CRD gives these.
    await rig.createAt({ backoffLimit: 6, pendingTimeoutSeconds: 900, ...story.spec });
    await rig.startOperator();
    const calm = disturb(server);
    const isOver = async () => {
      if (!isGone) await story.step(rig, last, isTried);
      return isGone;
    };
    // All of them live at the same time.
    await eventually(isOver, { timeout: 200_000, message: `the At is over: ${when}` });
    calm();
    for (const request of writes()) assertFenced(request);
    const lived = { writes: writes(), podsCreated: counts.ADDED, podsDeleted: counts.DELETED, last };
    // The last Events are sent by then.
    await rig.stopOperators();
    const told = server.store.list(events).map((event) => (event as { reason?: string }).reason ?? '');
    return { ...lived, told: new Set(told) };
  } finally {
    await rig.stopOperators();
    connection.close();
    await server.stop();
  }
}

/** A write that comes late must not meet another object than the one it was meant for. */
function assertFenced({ method, target, body }: RecordedRequest): void {
  if (method === 'POST' || target?.resource.plural === events.plural) return;
  const { metadata = {}, preconditions = {}, ...rest } = JSON.parse(body);
  if (method === 'DELETE') assert.ok(preconditions.uid, body);
  else if ('0' in rest) assert.equal(rest[0].path, '/metadata/uid', body);
  else assert.ok(metadata.resourceVersion, body);
}

function endOf({ last, podsCreated, podsDeleted }: Life) {
  const { phase, outcome, reason, exitCode, attempts } = last.status ?? {};
  return { phase, outcome, reason, exitCode, attempts, podsCreated, podsDeleted };
}

/** It is unknown whether the write that failed so was done. */
const ambiguous: Readonly<Record<string, Fault>> = {
  'an internal error': { kind: 'status', code: 500, reason: 'InternalError' },
  'an overloaded webhook': { kind: 'status', code: 503, reason: 'ServiceUnavailable' },
  'no answer to a write that was done': { kind: 'hang', commit: true },
  'no answer to a write that was not': { kind: 'hang' },
  'a cut after the write': { kind: 'cut', when: 'after' },
  'a cut before the write': { kind: 'cut', when: 'before' },
};
const definite: Readonly<Record<string, Fault>> = {
  'a conflict': { kind: 'status', code: 409, reason: 'Conflict' },
  'an AlreadyExists': { kind: 'status', code: 409, reason: 'AlreadyExists' },
  'too many requests': { kind: 'status', code: 429, retryAfter: 1, text: 'Too many requests' },
  'a lack of rights': { kind: 'status', code: 403, reason: 'Forbidden' },
  'an invalid object': { kind: 'status', code: 422, reason: 'Invalid' },
};

/** A write of the undisturbed life that shall fail. */
interface Point {
  /** As in `POST pods #2`. */
  readonly name: string;
  /** Finds it among the requests of another life. */
  readonly match: FaultMatch;
}

function pointsOf({ writes }: Life): Point[] {
  const names = numbered(writes.map(({ method, path, query }) => writeName(method, `${path}?${query}`)));
  return writes.map(({ method, target }, index) => {
    const { resource, subresource = '' } = target ?? {};
    const isLike = (other: RecordedRequest) =>
      other.method === method &&
      other.target?.resource === resource &&
      other.target?.subresource === subresource;
    const skip = writes.slice(0, index).filter(isLike).length;
    return {
      name: names[index] ?? '',
      match: { method, resource: resource?.plural ?? '', subresource, skip },
    };
  });
}

const recorded = new Map(atStories.map((story) => [story, live(story, fineWeather)]));

/** Breaks every watch of the operator again and again. */
function again(breaking: (watch: ApiWatch, server: FakeApiServer) => void): Disturbance {
  return (server) => {
    const timer = setInterval(() => {
      for (const watch of server.watches) breaking(watch, server);
    }, 150);
    return () => clearInterval(timer);
  };
}

/** Each watch is broken, and meets a fault when it is opened again. */
function reopening(fault: Fault): Disturbance {
  return (server) => {
    const takeBack = server.fail({ watch: true, times: 3 }, fault);
    for (const watch of server.watches) watch.cut();
    return takeBack;
  };
}

const watchFaults: Readonly<Record<string, Disturbance>> = {
  'end cleanly': again((watch) => watch.end()),
  'are reset': again((watch) => watch.cut()),
  'are reset in the middle of a line': again((watch) => {
    watch.write('{"type":"MODIFIED","object":{"kind":');
    watch.cut();
  }),
  'say what is no JSON': again((watch) => watch.write('{"type":\n')),
  'lose events, and end': again((watch) => {
    watch.mute();
    setTimeout(() => watch.cut(), 300);
  }),
  'tell everything twice': again((watch, server) => {
    for (const object of server.store.list(watch.target.resource)) watch.send('MODIFIED', object);
    watch.end();
  }),
  'are too old': again((watch, server) => {
    server.store.compact();
    watch.end();
  }),
  'become too old': again((watch, server) => {
    server.store.compact();
    watch.error(expired('1', server.store.compacted));
    watch.end();
  }),
  'are refused for a while': reopening({ kind: 'status', code: 429, reason: 'TooManyRequests' }),
  'fail for a while': reopening({ kind: 'status', code: 500, reason: 'InternalError' }),
  'are gone for a while': reopening({ kind: 'status', code: 410, reason: 'Expired' }),
  'come in drops': reopening({ kind: 'drip', size: 3 }),
};

describe('an At on an API server', { concurrency: true }, () => {
  describe('that fails its writes', { concurrency: true }, () => {
    for (const [story, recording] of recorded) {
      it(`ends as it would have, ${story.name}`, { timeout }, async () => {
        const expected = await recording;
        assert.equal(expected.last.status?.outcome, story.outcome);
        const points = pointsOf(expected).filter(({ name }) => story.own.test(name));
        const rows = points.flatMap((point) =>
          Object.entries({ ...ambiguous, ...definite }).map(([what, fault]) => ({ ...point, what, fault })),
        );
        await inParallel(rows.length, livesAtATime, async (index) => {
          const { name, match, what, fault } = rows[index] ?? assert.fail();
          const when = `${what}, ${name}`;
          const disturb = (server: FakeApiServer) => server.fail(match, fault);
          const untried = name === 'PATCH ats/example-at/status #1';
          const life = await live(story, { when, disturb, untried });
          assert.ok(
            pointsOf(life).some((point) => point.name === name),
            `there was no ${when}`,
          );
          assert.deepEqual(endOf(life), endOf(expected), when);
          // An Event whose own write fails for good is not told.
          const untold = [...expected.told].filter((reason) => !life.told.has(reason));
          if (!name.includes(events.plural)) assert.deepEqual(untold, [], `untold: ${when}`);
        });
      });
    }
  });

  describe('whose watches', { concurrency: true }, () => {
    for (const [what, disturb] of Object.entries(watchFaults)) {
      it(`${what} ends as it would have`, { timeout }, async () => {
        await inParallel(atStories.length, atStories.length, async (index) => {
          const [story, recording] = [...recorded][index] ?? assert.fail();
          const life = await live(story, { when: what, disturb });
          assert.deepEqual(endOf(life), endOf(await recording), story.name);
        });
      });
    }
  });
});
