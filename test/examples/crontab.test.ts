/** The example's decisions: what a CronTab is owed at an instant. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import '../fixtures/atwatch-runtime.ts';
import type { CronTab, CronTabStatus } from '../../examples/crontab/types.generated.ts';

const { catchUp, decide } = await import('../../examples/crontab/decide.ts');

const at = (text: string) => Date.parse(text);
const justBeforeNoon = at('2030-01-31T11:59:59.999Z');
const noon = at('2030-01-31T12:00:00Z');
const everyMinute = '* * * * *';
const everySecond = '* * * * * *';

function cronTab(spec: Partial<CronTab['spec']> = {}, status?: Partial<CronTabStatus>): CronTab {
  return {
    apiVersion: 'stable.example.com/v1',
    kind: 'CronTab',
    metadata: { namespace: 'default', name: 'tick', uid: 'tick-uid', resourceVersion: '7' },
    spec: { cronSpec: everyMinute, image: 'busybox', ...spec },
    ...(status && { status: { cronSpec: everyMinute, handledUntil: '', conditions: [], ...status } }),
  };
}

const firings = (decision: ReturnType<typeof decide>) => decision.ats.map(({ spec }) => spec.schedule);

suite('the firings of a CronTab', () => {
  const rows = [
    {
      name: 'a new one counts from now, however long it exists',
      now: noon,
      fires: [],
      handledUntil: '2030-01-31T12:00:00Z',
      again: '2030-01-31T12:01:00Z',
    },
    {
      name: 'nothing before its instant',
      status: { handledUntil: '2030-01-31T11:59:00Z' },
      now: justBeforeNoon,
      fires: [],
      handledUntil: '2030-01-31T11:59:00Z',
      again: '2030-01-31T12:00:00Z',
    },
    {
      name: 'one at its instant',
      status: { handledUntil: '2030-01-31T11:59:00Z' },
      now: noon,
      fires: ['2030-01-31T12:00:00Z'],
      handledUntil: '2030-01-31T12:00:00Z',
      again: '2030-01-31T12:01:00Z',
    },
    {
      name: 'none again once the status says so',
      status: { handledUntil: '2030-01-31T12:00:00Z' },
      now: noon + 5,
      fires: [],
      handledUntil: '2030-01-31T12:00:00Z',
      again: '2030-01-31T12:01:00Z',
    },
    {
      name: 'all that a short absence missed, the oldest first',
      spec: { cronSpec: everySecond },
      status: { cronSpec: everySecond, handledUntil: '2030-01-31T11:59:57Z' },
      now: noon + 400,
      fires: ['2030-01-31T11:59:58Z', '2030-01-31T11:59:59Z', '2030-01-31T12:00:00Z'],
      handledUntil: '2030-01-31T12:00:00Z',
      again: '2030-01-31T12:00:01Z',
    },
    {
      name: 'of a long absence only those that may be made up for',
      status: { handledUntil: '2030-01-01T00:00:00Z' },
      now: noon,
      fires: ['2030-01-31T12:00:00Z'],
      handledUntil: '2030-01-31T12:00:00Z',
      again: '2030-01-31T12:01:00Z',
    },
    {
      name: 'none twice when the clock is set back',
      status: { handledUntil: '2030-01-31T12:30:00Z' },
      now: noon,
      fires: [],
      handledUntil: '2030-01-31T12:30:00Z',
      again: '2030-01-31T12:31:00Z',
    },
    {
      name: 'another expression counts from now: its past firings were not requested',
      spec: { cronSpec: everySecond },
      status: { cronSpec: '0 0 * * *', handledUntil: '2030-01-31T00:00:00Z' },
      now: noon + 400,
      fires: [],
      handledUntil: '2030-01-31T12:00:00Z',
      again: '2030-01-31T12:00:01Z',
    },
    {
      name: 'never, for a day that does not come',
      spec: { cronSpec: '0 0 30 2 *' },
      now: noon,
      fires: [],
      handledUntil: '2030-01-31T12:00:00Z',
      again: undefined,
    },
  ];
  for (const { name, spec, status, now, fires, handledUntil, again } of rows) {
    test(name, () => {
      const decision = decide(cronTab(spec, status), now);
      assert.deepEqual(firings(decision), fires);
      assert.equal(decision.status.handledUntil, handledUntil);
      assert.equal(decision.requeueAt, again && at(again));
    });
  }
});

suite('the Ats of a firing', () => {
  const due = { handledUntil: '2030-01-31T11:59:00Z' };

  test('are complete, owned, and named after the firing', () => {
    const [first, ...others] = decide(cronTab({}, due), noon).ats;
    assert.equal(others.length, 0);
    assert.deepEqual(first, {
      metadata: {
        namespace: 'default',
        name: 'tick-1896091200-0',
        labels: { crontab: 'tick' },
        ownerReferences: [
          {
            apiVersion: 'stable.example.com/v1',
            kind: 'CronTab',
            name: 'tick',
            uid: 'tick-uid',
            controller: true,
          },
        ],
      },
      spec: {
        schedule: '2030-01-31T12:00:00Z',
        template: { spec: { containers: [{ name: 'crontab', image: 'busybox' }] } },
        ttlSecondsAfterFinished: 600,
      },
    });
  });

  test('are as many as there are replicas', () => {
    const names = (replicas: number) =>
      decide(cronTab({ replicas }, due), noon).ats.map(({ metadata }) => metadata.name);
    assert.deepEqual(names(2), ['tick-1896091200-0', 'tick-1896091200-1']);
    assert.deepEqual(names(0), []);
  });

  test('are the same on every pass until the status is written', () => {
    assert.deepEqual(decide(cronTab({}, due), noon + 3000).ats, decide(cronTab({}, due), noon).ats);
  });

  test('outlive the time in which they could be created again', () => {
    const [first] = decide(cronTab({}, due), noon).ats;
    assert.ok((first?.spec.ttlSecondsAfterFinished ?? 0) * 1000 > catchUp);
  });
});

suite('an expression that cannot be read', () => {
  test('is refused by a condition and waits for the next edit', () => {
    const { ats, status, requeueAt } = decide(cronTab({ cronSpec: '61 * * * *' }), noon);
    assert.deepEqual(ats, []);
    assert.equal(requeueAt, undefined);
    const [condition] = status.conditions;
    assert.equal(condition?.status, 'False');
    assert.equal(condition?.reason, 'InvalidCronSpec');
    assert.match(condition?.message ?? '', /61/);
  });

  test('changes nothing on the next pass', () => {
    const broken = cronTab({ cronSpec: '61 * * * *' });
    const { status } = decide(broken, noon);
    assert.deepEqual(decide({ ...broken, status }, noon + 90_000).status, status);
  });

  test('fires from its correction on', () => {
    const { status } = decide(cronTab({ cronSpec: '61 * * * *' }), noon - 30_000);
    const corrected = decide(cronTab({}, status), noon);
    assert.deepEqual(firings(corrected), []);
    assert.equal(corrected.status.conditions[0]?.status, 'True');
    const next = decide(cronTab({}, corrected.status), noon + 60_000);
    assert.deepEqual(firings(next), ['2030-01-31T12:01:00Z']);
  });
});
