/** The API server and the operator must read schedules alike: what one accepts, the other runs. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { resolveSchedule } from '../../src/at/plan/schedule.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { isInvalid } from '../../src/runtime/client/api-error.ts';
import { kubectl } from '../e2e/kubectl.ts';
import { fc } from '../fixtures/property.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, connectToTestCluster, withNamespace } from './support.ts';
import { timeTravel } from './time-travel.ts';

const digits = (length: number) =>
  fc.string({ minLength: length, maxLength: length, unit: fc.constantFrom(...'0123456789') });
const oneOf = (...values: string[]) => fc.constantFrom(...values);

/** Mostly right, sometimes wrong in one place, often at an edge. */
const date = fc
  .tuple(
    fc.oneof(
      { weight: 12, arbitrary: oneOf('2030', '2028', '2000', '1900', '0001', '9999') },
      digits(4),
      oneOf('0000', '10000', '203'),
    ),
    fc.oneof({ weight: 16, arbitrary: oneOf('01', '02', '04', '06', '11', '12') }, digits(2)),
    fc.oneof({ weight: 16, arbitrary: oneOf('01', '15', '28', '29', '30', '31') }, digits(2)),
  )
  .map((parts) => parts.join('-'));
const time = fc
  .tuple(
    fc.oneof({ weight: 16, arbitrary: oneOf('00', '09', '19', '23') }, oneOf('24', '9', '30')),
    fc.oneof({ weight: 16, arbitrary: oneOf('00', '30', '59') }, oneOf('60', '5')),
    fc.oneof({ weight: 16, arbitrary: oneOf('00', '59') }, oneOf('60', '61', '5')),
  )
  .map((parts) => parts.join(':'));
const fraction = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  fc.nat({ max: 10 }).chain((length) => digits(length).map((text) => `.${text}`)),
  oneOf(',5'),
);
const offset = fc.oneof(
  { weight: 16, arbitrary: oneOf('Z', '+00:00', '-00:00', '+02:00', '-11:30', '+23:59', '-23:59') },
  oneOf('', 'z', '+24:00', '+00:60', '+0200', '+2:00', 'UTC', ' Z'),
);
const separator = fc.oneof({ weight: 30, arbitrary: fc.constant('T') }, oneOf('t', ' ', ''));
const schedule = fc.tuple(date, separator, time, fraction, offset).map((parts) => parts.join(''));

const edges = [
  '0001-01-01T00:00:00Z',
  '0001-01-01T00:00:00+00:01',
  '0001-01-01T00:00:00-00:01',
  '0001-01-01T23:59:00+23:59',
  '0001-01-01T23:58:59+23:59',
  '9999-12-31T23:59:59.999999999Z',
  '9999-12-31T23:59:59-00:01',
  '9999-12-31T00:00:59-23:59',
  '9999-12-31T00:01:00-23:59',
  '9999-12-31T23:59:59+00:01',
  '2030-01-01T00:00:00Z\n',
  '2030-01-01T00:00:00Z\0',
  '٢٠٣٠-01-01T00:00:00Z',
  '2030-01-01T00:00:00.1234567890Z',
  'Z',
];

before(() => applyCrds());

describe('schedules', () => {
  it('get the same verdict from the API server and from the parser', async (t) => {
    const { client } = connectToTestCluster();
    const namespace = await withNamespace(t);
    const isAccepted = async (text: string, timeZone: string | undefined): Promise<boolean> => {
      const spec = { schedule: text, command: 'true', ...(timeZone === undefined ? {} : { timeZone }) };
      try {
        await client.create(ats, { metadata: { namespace, name: 'at' }, spec }, { dryRun: true });
        return true;
      } catch (error) {
        if (isInvalid(error)) return false;
        throw error;
      }
    };
    let accepted = 0;
    const written = fc.tuple(
      fc.oneof({ weight: 9, arbitrary: schedule }, fc.string({ maxLength: 70 })),
      fc.option(fc.constant('UTC'), { nil: undefined, freq: 4 }),
    );
    const check = async ([text, timeZone]: readonly [string, string | undefined]) => {
      const verdict = await isAccepted(text, timeZone);
      if (verdict) accepted += 1;
      assert.equal(
        typeof resolveSchedule(text, timeZone) === 'number',
        verdict,
        JSON.stringify({ text, timeZone }),
      );
    };
    // Some at a time: it is the answers that take long.
    const some = fc.array(written, { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(some, async (several) => {
        await Promise.all(several.map(check));
      }),
      { numRuns: 300, examples: edges.map((edge) => [[[edge, undefined]]]) },
    );
    assert.ok(accepted > 120, `${accepted} were accepted, too few to prove anything`);
  });

  it('are resolved to one instant each, never before it', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const timeZone = 'Europe/Berlin';
    const rows = {
      offset: [{ schedule: '2100-01-31T09:00:00+02:00' }, '2100-01-31T07:00:00.000Z'],
      fraction: [{ schedule: '2100-01-31T09:00:00.000000001Z' }, '2100-01-31T09:00:00.001Z'],
      skipped: [{ schedule: '2100-03-28T02:30:00', timeZone }, '2100-03-28T01:30:00.000Z'],
      twice: [{ schedule: '2100-10-31T02:30:00', timeZone }, '2100-10-31T00:30:00.000Z'],
    } as const;
    for (const [name, [spec]] of Object.entries(rows)) await rig.createAt(spec, name);
    for (const [name, [, instant]] of Object.entries(rows)) {
      const { status } = await rig.atWhen('accepted', (at) => at.status?.reason === 'Armed', name);
      assert.equal(status?.scheduledTime, instant, name);
    }
  });

  it('of a local time that is skipped, or comes twice, are run once, and not before its instant', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advanceAtRest } = await timeTravel(t);
    await rig.startOperator(options);
    const created: string[] = [];
    await rig.watch(t, pods, (type, { metadata }) => void (type === 'ADDED' && created.push(metadata.name)));
    // In the order of their instants.
    const rows = {
      skipped: ['2100-03-28T02:30:00', '2100-03-28T01:30:00.000Z'],
      twice: ['2100-10-31T02:30:00', '2100-10-31T00:30:00.000Z'],
    } as const;
    // Pods are made in the API server's own time: long ago, as the operator sees it.
    const spec = { timeZone: 'Europe/Berlin', pendingTimeoutSeconds: 0 };
    for (const [name, [schedule]] of Object.entries(rows)) await rig.createAt({ ...spec, schedule }, name);
    const goTo = async (instant: number, name: string) => {
      await advanceAtRest(instant - options.clock.now());
      // By the time that this one is launched, the operator has looked at the others.
      await rig.createAt({ pendingTimeoutSeconds: 0 }, name);
      await rig.inPhase('RUNNING', name);
    };
    for (const [name, [, instant]] of Object.entries(rows)) {
      await rig.atWhen('accepted', (at) => at.status?.scheduledTime === instant, name);
      await goTo(Date.parse(instant) - 60_000, `before-${name}`);
      assert.ok(await rig.isPodGone(`${name}-pod`), `${name} a minute before its instant`);
      await advanceAtRest(Date.parse(instant) - options.clock.now());
      await rig.inPhase('RUNNING', name);
    }
    await goTo(Date.parse(rows.twice[1]) + 3_660_000, 'second-time');
    const ofRows = created.filter((name) => /^(skipped|twice)-/.test(name));
    assert.deepEqual(ofRows, ['skipped-pod', 'twice-pod']);
    const wide = await kubectl([`--namespace=${rig.namespace}`, 'get', 'ats', '--output=wide']);
    for (const [name, [schedule, instant]] of Object.entries(rows)) {
      assert.match(wide, new RegExp(`^${name} +${schedule} +Europe/Berlin +RUNNING .* ${instant} `, 'm'));
    }
  });
});
