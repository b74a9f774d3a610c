/** The quick start's table of tasks: each command, as the table has it, on a real node. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readDocument } from '../fixtures/document.ts';
import { runShell } from '../fixtures/kubectl-plugin.ts';
import { configurationFor, installCrds, type Namespace, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

/** The rows of the table, what is to be done against the command that does it. */
async function tasksOfQuickStart(): Promise<ReadonlyMap<string, string>> {
  const [, table = ''] = /^\| to \| type \|\n\|[- |]+\|\n((?:\|.*\n)+)/m.exec(
    await readDocument('docs/quick-start.md'),
  ) ?? [''];
  const rows = Array.from(table.matchAll(/^\| (.+?) \| `(.+)` \|$/gm), ([, task = '', command = '']) => {
    return [task, command.replaceAll('\\|', '|')] as const;
  });
  return new Map(rows);
}

/** With an annotation of Reloader, and without Pods: what is moved is the workload. */
function annotatedWorkload(index: number): object {
  const labels = { app: `moved-${index}` };
  const container = {
    name: 'main',
    image: 'busybox',
    envFrom: [{ configMapRef: { name: `config-${index}` } }],
  };
  const kind = index % 2 === 0 ? 'Deployment' : 'StatefulSet';
  return {
    ...{ apiVersion: 'apps/v1', kind },
    metadata: { name: `moved-${index}`, annotations: { 'reloader.stakater.com/auto': 'true' } },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
      ...(kind === 'StatefulSet' && { serviceName: 'none' }),
    },
  };
}

interface Task {
  /** What is there when the user types the command; in a namespace that the tasks before have used. */
  prepare?(namespace: Namespace): Promise<unknown>;
  readonly code: number;
  readonly output: readonly RegExp[];
}

const ok = 0;

describe('the quick start has one command', () => {
  let operator: OperatorUnderTest;
  let namespace: Namespace;
  let directory: string;
  let KUBECONFIG: string;
  const ends: (() => Promise<unknown>)[] = [];
  let commands: ReadonlyMap<string, string>;

  async function type(command: string): Promise<string> {
    const { code, output } = await runShell(command, { KUBECONFIG });
    assert.equal(code, ok, `${command}: ${output}`);
    return output;
  }

  before(async () => {
    commands = await tasksOfQuickStart();
    directory = await mkdtemp(join(tmpdir(), 'atwatch-tasks-'));
    await installCrds();
    operator = await operatorUnderTest(['--leader-elect'], { POD_NAMESPACE: 'default' });
    namespace = await withNamespace({ after: (end) => void ends.push(end) });
    KUBECONFIG = await configurationFor(directory, namespace.name);
  });
  after(async () => {
    await operator?.remove();
    for (const end of ends) await end();
    await rm(directory, { recursive: true, force: true });
  });

  const tasks: Readonly<Record<string, Task>> = {
    'run a command in ten minutes': { code: ok, output: [/runs in (?:10m|9m[0-5]\ds)\./] },
    'run it at nine in Berlin on a date': {
      code: ok,
      output: [/Europe\/Berlin .*Tue 1 Dec 2099 09:00:00 \+01:00/],
    },
    'see why it failed, with its output': {
      prepare: async () => {
        await type("kubectl at now --name broken --retries 0 -- sh -c 'echo no space left >&2; exit 3'");
        await runShell('kubectl at wait broken --timeout 100s', { KUBECONFIG });
      },
      code: ok,
      output: [/^at\/broken: Failed \(exit code 3\)/, /^Output .*\n {2}no space left$/m],
    },
    'run it again': { code: ok, output: [/^at\/broken-2 runs now\./] },
    'cancel what waits or runs': {
      prepare: () => type('kubectl at now+1h --name later -- echo never'),
      code: ok,
      output: [/^at\/later canceled: it was due /],
    },
    'see the last ten that have run': {
      prepare: async () => {
        // The cancel of the task before is the operator's to carry out, and is among the last ten until ten have run.
        await runShell('kubectl at wait later --timeout 100s', { KUBECONFIG });
        // So is what was run again two tasks before.
        await runShell('kubectl at wait broken-2 --timeout 100s', { KUBECONFIG });
        const names = Array.from({ length: 10 }, (_, index) => `run-${index}`);
        await type(names.map((name) => `kubectl at now --name ${name} -- echo ${name}`).join(' && '));
        await type(names.map((name) => `kubectl at wait ${name} --timeout 100s`).join(' && '));
      },
      code: ok,
      output: [/^NAME .*\n(?:run-\d +Succeeded .* run-\d\n){10}$/],
    },
    'wait in a script, and end as the command ended': {
      code: 3,
      output: [/^broken: Failed \(exit code 3\)/],
    },
    'delete what is over': {
      code: ok,
      output: [/^deleted at\/broken, Failed /m, /^\d\d Ats deleted, \d kept\.$/m],
    },
    'see why a Pod was restarted': {
      prepare: async ({ kubectl }) => {
        const samples = ['webapp.yaml', 'k8spatterns_v1_configwatcher.yaml'].map(
          (name) => `config/samples/${name}`,
        );
        await kubectl('apply', ...samples.map((file) => `--filename=${file}`));
        await kubectl('rollout', 'status', 'deployment/webapp', '--timeout=100s');
        const watcher = 'configwatcher/webapp-config-watcher';
        await kubectl('wait', '--for=condition=PodsMatched', '--timeout=60s', watcher);
        await kubectl('patch', 'configmap', 'webapp-config', '--patch', '{"data":{"message":"Hello"}}');
        await type('kubectl configwatcher wait webapp-config-watcher --timeout 110s');
      },
      code: ok,
      output: [/restart .*because of ConfigMap webapp-config \(message\)/],
    },
    'wait until an edit is live everywhere': {
      code: ok,
      output: [/^webapp-config-watcher: 1 Pod with the present content\.$/m],
    },
    'move workloads that have annotations of Reloader': {
      prepare: ({ apply }) => {
        const items = Array.from({ length: 50 }, (_, index) => annotatedWorkload(index));
        return apply({ apiVersion: 'v1', kind: 'List', items });
      },
      code: ok,
      output: [
        /^50 ConfigWatchers printed; nothing was written\.\n(?:configwatcher\.k8spatterns\.io\/\S+ created\n){50}$/,
      ],
    },
    'find out that the operator is missing': {
      prepare: () => operator.remove(),
      code: 1,
      output: [/^FAIL +no operator leads: the Lease in default was given back$/m],
    },
  };

  it('for each task, and none that is not tried here', () => {
    assert.deepEqual([...commands.keys()], Object.keys(tasks));
  });

  for (const [task, { prepare, code, output }] of Object.entries(tasks)) {
    it(`to ${task}`, { timeout: 280_000 }, async () => {
      await prepare?.(namespace);
      const command = commands.get(task) ?? '';
      const done = await runShell(command, { KUBECONFIG });
      assert.equal(done.code, code, `${command}: ${done.output}`);
      for (const pattern of output) assert.match(done.output, pattern);
    });
  }
});
