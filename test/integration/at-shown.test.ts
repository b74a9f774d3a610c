/** What kubectl shows of Ats in all states, on a real API server: a glance must tell which of them need a hand. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { kubectl } from '../e2e/kubectl.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds } from './support.ts';

before(() => applyCrds());

const farAway = '2100-01-01T00:00:00Z';
const containers = [{}];
/** By name: the spec, what the columns PHASE, OUTCOME and REASON show, and where it is ours what MESSAGE does. */
const shown: Readonly<Record<string, readonly [Partial<AtSpec>, RegExp, RegExp?]>> = {
  waiting: [{ schedule: farAway }, /PENDING +Armed /],
  local: [{ schedule: '2100-01-01T00:00:00', timeZone: 'Europe/Berlin' }, /Europe\/Berlin +PENDING +Armed /],
  paused: [
    { schedule: farAway, suspend: true },
    /PENDING +Suspended /,
    /suspended; due 2100-01-01T00:00:00.000Z$/,
  ],
  piped: [{ schedule: farAway, command: 'ls | wc' }, /PENDING +Armed /, /shell operator such as/],
  'no-zone': [{ schedule: '2100-01-01T00:00:00', timeZone: 'Factory' }, /PENDING +InvalidTimeZone /],
  quote: [{ schedule: farAway, command: `echo "it's` }, /PENDING +InvalidCommand /],
  template: [
    { schedule: farAway, command: 'x', template: { spec: { dnsPolicy: 'Nowhere', containers } } },
    /PENDING +InvalidTemplate /,
  ],
  type: [
    { schedule: farAway, command: 'x', template: { spec: { hostNetwork: 'yes', containers } } },
    /PENDING +PodRejected /,
  ],
  missed: [
    { schedule: '2019-04-12T10:12:00Z', startingDeadlineSeconds: 1 },
    /DONE +Missed +MissedDeadline /,
    /not started: it was \d/,
  ],
  canceled: [{ schedule: farAway, cancel: true }, /DONE +Canceled +Canceled /],
  book: [{}, /2019-04-12T10:12:00Z +RUNNING +\d/],
};

it('kubectl get ats tells those that wait from those that can never run, and blames no operator for an old schedule', async (t) => {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  for (const [name, [spec]] of Object.entries(shown)) await rig.createAt(spec, name);
  await rig.inPhase('RUNNING', 'book');
  await rig.start('book-pod');
  const rows = async (...args: string[]) =>
    (await kubectl([`--namespace=${rig.namespace}`, 'get', 'ats', ...args])).split('\n');
  for (const [name, [, looks]] of Object.entries(shown)) {
    await rig.atWhen(
      `shown as ${looks}`,
      ({ status }) => looks.source.includes(status?.reason ?? 'RUNNING'),
      name,
    );
  }
  const lines = await rows();
  for (const [name, [, looks]] of Object.entries(shown)) {
    assert.match(lines.find((line) => line.startsWith(`${name} `)) ?? '', looks);
  }
  const wide = await rows('--output=wide');
  for (const [name, [, , says]] of Object.entries(shown)) {
    if (says) assert.match(wide.find((line) => line.startsWith(`${name} `)) ?? '', says);
  }
  // SCHEDULE, PHASE, AGE, UTC, POD: nothing stands in LATE.
  const book = wide.find((line) => line.startsWith('book '));
  assert.match(book ?? '', /RUNNING +\d+\w* +2019-04-12T10:12:00.000Z +book-pod/);
});
