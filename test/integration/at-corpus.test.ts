/** Ats that people and fuzzers write: each is refused readably, says what is wrong with it, or runs exactly. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

const day = 86_400_000;
const inMilliseconds = (ms: number) => ({ schedule: new Date(Date.now() + ms).toISOString() });

interface Row {
  readonly name: string;
  readonly spec: () => Partial<AtSpec>;
}

/** The words that the Pod has to have. */
const running: readonly (Row & { readonly words: readonly string[] })[] = [
  { name: 'soon', spec: () => inMilliseconds(10), words: ['echo', 'YAY'] },
  { name: 'long-past', spec: () => ({ schedule: '0001-01-01T00:00:00Z' }), words: ['echo', 'YAY'] },
  {
    name: 'many-words',
    spec: () => ({ command: 'a '.repeat(10_000) }),
    words: Array.from({ length: 10_000 }, () => 'a'),
  },
  {
    name: 'lines',
    spec: () => ({ command: 'echo one\n"two\nthree"' }),
    words: ['echo', 'one', 'two\nthree'],
  },
  {
    name: 'single-quotes',
    spec: () => ({ command: `sh -c 'echo "a  b" \\ $HOME' '' it''s` }),
    words: ['sh', '-c', 'echo "a  b" \\ $HOME', '', 'its'],
  },
  {
    name: 'double-quotes',
    spec: () => ({ command: `echo "it's" "a \\"b\\" \\\\ \\n" "" x"y z"` }),
    words: ['echo', "it's", 'a "b" \\ \\n', '', 'xy z'],
  },
  {
    name: 'backslashes',
    spec: () => ({ command: `echo a\\ b \\"c\\" \\'d \\\\ e\\n C:\\\\Users` }),
    words: ['echo', 'a b', '"c"', "'d", '\\', 'en', 'C:\\Users'],
  },
  {
    name: 'ansi',
    spec: () => ({ command: 'echo \u001b[31mred\u202e\u0007' }),
    words: ['echo', '\u001b[31mred\u202e\u0007'],
  },
  { name: 'variable', spec: () => ({ command: 'echo $(VAR) $$' }), words: ['echo', '$(VAR)', '$$'] },
  // Pruned: who wants to know of a slip asks for strict validation.
  { name: 'unknown', spec: () => ({ shedule: 'soon' }), words: ['echo', 'YAY'] },
  { name: 'a.b.c', spec: () => ({}), words: ['echo', 'YAY'] },
  { name: '123', spec: () => ({}), words: ['echo', 'YAY'] },
  { name: 'x'.repeat(63), spec: () => ({}), words: ['echo', 'YAY'] },
];

/** Accepted by the API server, and left alone for a reason. */
const waiting: readonly (Row & { readonly reason: string })[] = [
  { name: 'far-away', spec: () => inMilliseconds(400 * day), reason: 'Armed' },
  { name: 'end-of-time', spec: () => ({ schedule: '9999-12-31T23:59:59.999999999Z' }), reason: 'Armed' },
  { name: 'quote', spec: () => ({ command: `echo "it's` }), reason: 'InvalidCommand' },
  { name: 'nul', spec: () => ({ command: 'echo a\0b' }), reason: 'InvalidCommand' },
  {
    name: 'zone',
    spec: () => ({ schedule: '2030-01-31T09:00:00', timeZone: 'Factory' }),
    reason: 'InvalidTimeZone',
  },
  {
    name: 'own-restarts',
    spec: () => ({ template: { spec: { containers: [{ restartPolicy: 'Never' }] } } }),
    reason: 'InvalidTemplate',
  },
  {
    name: 'pod',
    spec: () => ({ template: { spec: { containers: [{ ports: 'all' }] } } }),
    reason: 'PodRejected',
  },
];

const refused: readonly (Row & { readonly says: RegExp })[] = [
  { name: 'x'.repeat(64), spec: () => ({}), says: /metadata\.name.*63/ },
  { name: 'x'.repeat(253), spec: () => ({}), says: /metadata\.name.*63/ },
  { name: 'huge-command', spec: () => ({ command: 'x'.repeat(1 << 20) }), says: /spec\.command: Too long/ },
  {
    name: 'huge-schedule',
    spec: () => ({ schedule: '2'.repeat(1_000_000) }),
    says: /spec\.schedule: Too long/,
  },
  { name: 'empty-command', spec: () => ({ command: '' }), says: /spec\.command/ },
  { name: 'blank', spec: () => ({ command: ' \n\t' }), says: /spec\.command.*must name a program/ },
  {
    name: 'template',
    spec: () => ({ template: { spec: { containers: 'all of them' as unknown as [] } } }),
    says: /spec\.template\.spec\.containers.*array/,
  },
  { name: 'number', spec: () => ({ schedule: 1.9e9 as unknown as string }), says: /spec\.schedule.*string/ },
  { name: 'null', spec: () => ({ schedule: null as unknown as string }), says: /spec\.schedule/ },
  { name: 'nul-schedule', spec: () => ({ schedule: '2030-01-31T09:00:00\0Z' }), says: /RFC 3339/ },
  { name: 'marked', spec: () => ({ schedule: '\u200f2030-01-31T09:00:00Z' }), says: /RFC 3339/ },
];

before(() => applyCrds());

describe('the corpus of bad and strange Ats', () => {
  it('is refused, explained or run, all of it beside a hundred poisonous ones', {
    timeout: 120_000,
  }, async (t) => {
    const rig = await AtRig.create(t);
    const poison = { template: { spec: { containers: [{ ports: 'all' }] } } };
    const poisons = Array.from({ length: 100 }, (_, index) => rig.createAt(poison, `poison-${index}`));
    await Promise.all(poisons);
    await rig.startOperator();
    for (const { name, spec } of [...running, ...waiting]) await rig.createAt(spec(), name);
    for (const { name, words } of running) {
      await rig.inPhase('RUNNING', name);
      assert.deepEqual((await rig.pod(`${name}-pod`)).spec.containers[0]?.command, words, name);
    }
    for (const { name, reason } of waiting) {
      const held = await rig.atWhen(reason, ({ status }) => status?.reason === reason, name);
      assert.equal(held.status?.phase, 'PENDING');
      const said = findCondition(held.status?.conditions, reason === 'PodRejected' ? 'Launched' : 'Accepted');
      assert.notEqual(said?.message ?? '', '', name);
      if (reason === 'Armed') continue;
      const told = async () => (await rig.events(name)).includes(`${reason} (W)`);
      await eventually(told, { message: `the Event ${reason} of ${name}` });
      assert.equal(await rig.isPodGone(`${name}-pod`), true);
    }
  });

  for (const { name, spec, says } of refused) {
    it(`is refused in few words: ${name.slice(0, 20)}`, async (t) => {
      const rig = await AtRig.create(t);
      const at = {
        metadata: { namespace: rig.namespace, name },
        spec: { schedule: '2030-01-31T09:00:00Z', command: 'true', ...spec() },
      };
      await assert.rejects(rig.client.create(ats, at, { dryRun: true }), (error) => {
        assert.ok(error instanceof ApiError);
        assert.match(error.message, says);
        return error.message.length < 1000;
      });
    });
  }
});
