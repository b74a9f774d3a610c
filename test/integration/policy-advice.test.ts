/** The remarks that the API server makes when an At is written. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

let world: PolicyWorld;
const apply = ['apply', '--server-side', '--dry-run=server', '--filename=-'];

const at = (spec: object) => ({
  apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
  kind: 'At',
  metadata: { name: 'remarks', namespace: 'default' },
  spec: { schedule: '2099-01-01T00:00:00Z', command: 'echo YAY', ...spec },
});
/** What kubectl prints when it takes warnings for errors; '' for none. */
async function remarks(args: readonly string[], input?: object): Promise<string> {
  try {
    await world.kubectl([...args, '--warnings-as-errors'], input);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
const remarksOn = (spec: object) => remarks(apply, at(spec));

before(async () => {
  world = await startPolicyWorld();
  await eventually(
    async () => (await remarksOn({ schedule: '2019-04-12T10:12:00Z' })).includes('has passed'),
    {
      timeout: 30_000,
      interval: 200,
      message: 'the remarks are in force',
    },
  );
});

after(() => world?.stop());

/** Local time in `timeZone`, as a schedule without an offset. */
function localTime(instant: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return parts.format(instant).replace(' ', 'T');
}

const minute = 60_000;

describe('remarks on an At that is created', () => {
  it('tells that the command runs now when the schedule has passed', async () => {
    assert.match(await remarksOn({ schedule: '2019-04-12T10:12:00Z' }), /has passed: the command runs now/);
    const offset = new Date(Date.now() + 60 * minute).toISOString().replace('Z', '+02:00');
    assert.match(await remarksOn({ schedule: offset }), /has passed: the command runs now/);
  });

  for (const timeZone of [
    'Pacific/Kiritimati',
    'Asia/Kolkata',
    'Europe/Berlin',
    'America/Los_Angeles',
    'Pacific/Pago_Pago',
  ]) {
    it(`reads a local time in ${timeZone}`, async () => {
      const passed = localTime(Date.now() - 5 * minute, timeZone);
      assert.match(await remarksOn({ schedule: passed, timeZone }), /has passed: the command runs now/);
      assert.equal(await remarksOn({ schedule: localTime(Date.now() + 5 * minute, timeZone), timeZone }), '');
    });
  }

  it('tells that the command does not run when the deadline has passed, too', async () => {
    const spec = { schedule: '2019-04-12T10:12:00Z', startingDeadlineSeconds: 10 };
    assert.match(await remarksOn(spec), /the command does not run/);
  });

  it('says nothing of a time to come, of a moment ago, and of what is suspended', async () => {
    assert.equal(await remarksOn({}), '');
    assert.equal(await remarksOn({ schedule: new Date(Date.now() - 20_000).toISOString() }), '');
    assert.equal(await remarksOn({ schedule: '2019-04-12T10:12:00Z', suspend: true }), '');
  });

  it('tells of a shell operator without a shell', async () => {
    for (const command of ['date | wc', 'a && b', 'a; b', 'echo x > y', 'sleep 1 &', 'first\nsecond']) {
      assert.match(await remarksOn({ command }), /holds a shell operator but no shell/, command);
    }
    for (const command of [
      "echo 'a | b'",
      'echo a\\;b',
      'curl http://x/?a=1&b=2',
      'echo "a\nb"',
      'a \\\n b',
    ]) {
      assert.equal(await remarksOn({ command }), '', command);
    }
    assert.equal(await remarksOn({ command: 'a && b', shell: '/bin/sh' }), '');
    assert.equal(await remarksOn({ command: undefined, argv: ['sh', '-c', 'a && b'] }), '');
    assert.equal(await remarksOn({ command: 'x'.repeat(32_768) }), '');
  });
});

describe('remarks on an At that is edited', () => {
  it('come with a spec that has one, and not with metadata alone', async () => {
    const stored = at({ command: 'a && b' });
    await world.kubectl(['apply', '--server-side', '--filename=-'], stored);
    assert.equal(await remarks(['annotate', 'at', 'remarks', 'note=1']), '');
    const edit = (command: string) =>
      remarks(['patch', 'at', 'remarks', '--type=merge', `--patch=${JSON.stringify({ spec: { command } })}`]);
    assert.match(await edit('a || b'), /holds a shell operator/);
    assert.equal(await edit('a b'), '');
  });
});
