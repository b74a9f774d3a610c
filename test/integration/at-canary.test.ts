/**
 * What a user wrote into a Pod template or a command comes out nowhere but in the Pod: not in Events, log lines,
 * metrics or a status, although the API server quotes it when it refuses the Pod.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { pino } from 'pino';
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { events } from '../../src/runtime/events/event.ts';
import { errorFields } from '../../src/runtime/logger.ts';
import { AtRig } from './at-rig.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { admitPodsBy } from './pod-policy.ts';
import { applyCrds, eventually } from './support.ts';

const canary = 'canary-7f3a9c';
/** Never valid where it stands, so that the API server quotes it. */
const loud = `${canary}!"{[ ]}: \\ CANARY`;

before(() => applyCrds());

function template(container: object, spec: object = {}): Partial<AtSpec> {
  return { command: `echo ${canary}`, template: { spec: { ...spec, containers: [{ ...container }] } } };
}

const env = (entry: object) => template({ env: [{ name: 'PASSWORD', value: canary }, entry] });

/** The API server says no to the Pod now, or finds its template not valid. */
function isRefusal(reason: string | undefined): boolean {
  return reason === 'PodRejected' || reason === 'InvalidTemplate';
}

interface Row {
  readonly name: string;
  readonly spec: Partial<AtSpec>;
  /** What has to be left of the API server's sentence. */
  readonly says: RegExp;
}

const rows: readonly Row[] = [
  {
    name: 'env-name',
    spec: env({ name: `${loud}=` }),
    says: /containers\[0\]\.env\[1\]\.name: Invalid value/,
  },
  { name: 'env-type', spec: env({ name: 'X', value: { a: canary } }), says: /EnvVar/ },
  { name: 'env-number', spec: env({ name: 'X', value: 7.3 }), says: /cannot unmarshal/ },
  {
    // The create itself drops the field, and is refused for another.
    name: 'env-unknown',
    spec: env({ name: `${loud}=`, valeu: canary }),
    says: /containers\[0\]\.env\[1\]\.name: Invalid value/,
  },
  {
    name: 'env-both',
    spec: env({ name: 'X', value: canary, valueFrom: { fieldRef: { fieldPath: 'metadata.nothing' } } }),
    says: /env\[1\]\.valueFrom/,
  },
  { name: 'container-name', spec: template({ name: loud }), says: /containers\[0\]\.name: Invalid value/ },
  { name: 'mount', spec: template({ volumeMounts: [{ name: canary, mountPath: '/x' }] }), says: /Not found/ },
  {
    name: 'quantity',
    spec: template({ resources: { limits: { cpu: loud } } }),
    says: /quantit/,
  },
  { name: 'pull-policy', spec: template({ imagePullPolicy: loud }), says: /Unsupported value.*"Always"/ },
  { name: 'host-alias', spec: template({}, { hostAliases: [{ ip: loud }] }), says: /hostAliases\[0\]\.ip/ },
  {
    name: 'toleration',
    spec: template({}, { tolerations: [{ key: loud, operator: 'Exists', value: canary }] }),
    says: /tolerations\[0\]/,
  },
  {
    name: 'twice',
    spec: template({
      ports: [
        { containerPort: 80, name: 'a' },
        { containerPort: 81, name: 'a' },
      ],
      env: [{ name: 'P', value: canary }],
    }),
    says: /Duplicate value/,
  },
  {
    name: 'label',
    spec: { command: 'true', template: { metadata: { labels: { x: loud } }, spec: { containers: [{}] } } },
    says: /metadata\.labels: Invalid value/,
  },
  { name: 'by-policy', spec: env({ name: 'QUOTE', value: `${canary}-too` }), says: /the policy dislikes/ },
];

/** A policy that quotes what it sees in words of its own, as webhooks do. */
async function quotingPolicy(t: TestContext, rig: AtRig): Promise<void> {
  const quoted = "object.spec.containers[0].env.map(e, e.value).join(',')";
  await admitPodsBy(t, rig, {
    verb: 'Validating',
    policy: {
      validations: [
        {
          expression: "!object.spec.containers.exists(c, has(c.env) && c.env.exists(e, e.name == 'QUOTE'))",
          messageExpression: `'the policy dislikes ' + ${quoted}`,
        },
      ],
    },
    binding: { validationActions: ['Deny'] },
  });
  // A policy is in force a moment after it was stored.
  const { client, namespace } = rig;
  const quoting = { name: 'a', image: 'b', env: [{ name: 'QUOTE', value: 'x' }] };
  const probe = { metadata: { namespace, name: 'probe' }, spec: { containers: [quoting] } };
  const answer = () =>
    client.create(pods, probe, { dryRun: true }).then(
      () => 'created',
      ({ message }) => String(message),
    );
  await eventually(async () => (await answer()).includes('the policy dislikes'), {
    message: 'the policy refuses',
  });
}

describe('the words of a template that the API server refuses', () => {
  it('are nowhere, and what is wrong with them is in status', async (t) => {
    const rig = await AtRig.create(t);
    await quotingPolicy(t, rig);
    const lines: string[] = [];
    const log = pino(
      { level: 'info', serializers: { err: errorFields } },
      { write: (line: string) => lines.push(line) },
    );
    const registry = new Registry();
    await rig.startOperator({ log, registry });
    for (const { name, spec } of rows) await rig.createAt(spec, name);
    for (const { name, spec } of rows) {
      await rig.createAt({ ...spec, schedule: '2100-01-01T00:00:00Z' }, `${name}-far`);
    }
    for (const { name, says } of rows) {
      const { status } = await rig.atWhen('held', (at) => isRefusal(at.status?.reason), name);
      assert.match(status?.message ?? '', says, name);
      assert.doesNotMatch(JSON.stringify(status), /canary/i, `the status of ${name}`);
      const warned = async (at: string) =>
        (await rig.events(at)).some((event) => isRefusal(event.split(' ')[0]));
      await eventually(() => warned(name), { timeout: 90_000, message: `the Event of ${name}` });
      await eventually(() => warned(`${name}-far`), {
        timeout: 90_000,
        message: `the Event of the dry run of ${name}`,
      });
    }
    await rig.stopOperators();
    const { items } = await rig.client.list(events, { namespace: rig.namespace });
    assert.doesNotMatch(JSON.stringify(items), /canary/i, 'Events');
    assert.doesNotMatch(lines.join(''), /canary/i, 'log lines');
    assert.doesNotMatch(await registry.metrics(), /canary/i, 'metrics');
    assert.ok(lines.some((line) => line.includes('PodRejected')));
  });
});

/** The command fails twice, which is once too often, and says the canary each time. */
async function failTwice(rig: AtRig, name: string): Promise<void> {
  const pod = `${name}-pod`;
  await rig.inPhase('RUNNING', name);
  await rig.start(pod);
  const message = `the password is ${canary}\n`;
  await rig.failAgain(0, pod, message);
  await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing', name);
  await rig.failAgain(1, pod, message);
  await rig.stopped(pod);
  const [container] = (await rig.pod(pod)).status?.containerStatuses ?? [];
  assert.ok(container?.lastState);
  const containerStatuses = [{ ...container, state: container.lastState }];
  await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded', containerStatuses }, pod);
  await rig.inPhase('DONE', name);
  const told = async () => (await rig.events(name)).includes('Failed (W)');
  await eventually(told, { message: `the end of ${name} is told` });
}

describe('the output of a command', { concurrency: true }, () => {
  for (const [what, flags, isTold] of [
    ['unless its At keeps it to itself', [], [undefined, true]],
    ['only where its At asks for it, by a flag', ['--at-output-in-status=false'], [true]],
  ] as const) {
    it(`is in the status of its At and nowhere else, and there ${what}`, async (t) => {
      const rig = await AtRig.create(t);
      const versions: At[] = [];
      await rig.watch(t, ats, (_, at) => versions.push(at));
      const operator = new OperatorProcess(t, rig.namespace, flags);
      const values = { open: undefined, shown: true, hidden: false };
      const names = Object.keys(values);
      for (const [name, outputInStatus] of Object.entries(values)) {
        await rig.createAt(
          { backoffLimit: 1, ...(outputInStatus !== undefined && { outputInStatus }) },
          name,
        );
      }
      await Promise.all(names.map((name) => failTwice(rig, name)));
      const metrics = await operator.metrics();
      assert.match(metrics, /^atwatch_at_finished_total\{.*reason="BackoffLimitExceeded".*\} 3$/m);
      await operator.kill('SIGTERM');
      const { items } = await rig.client.list(events, { namespace: rig.namespace });
      assert.doesNotMatch(JSON.stringify(items), /canary/i, 'Events');
      assert.doesNotMatch(metrics, /canary/i, 'metrics');
      assert.match(operator.output, /CommandFailing/);
      assert.doesNotMatch(operator.output, /canary/i, 'log lines');
      const isOver = (name: string) =>
        versions.some(({ metadata, status }) => metadata.name === name && status?.phase === 'DONE');
      await eventually(() => names.every(isOver), { message: 'the watch shows all ends' });
      for (const [name, value] of Object.entries(values)) {
        const told = versions.filter((at) => at.metadata.name === name && /canary/.test(JSON.stringify(at)));
        const phases = [...new Set(told.map(({ status }) => status?.phase))];
        assert.deepEqual(phases, isTold.some((one) => one === value) ? ['RUNNING', 'DONE'] : [], name);
      }
    });
  }
});
