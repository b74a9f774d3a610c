/**
 * Records both kinds at work on the cluster of KUBECONFIG, in docs/images/at-work.json, and draws that.
 * `make picture` starts the cluster.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '../demo/transcript.ts';
import { startOperator } from '../operator-process.ts';
import { draw } from './draw.ts';
import type { Part, PodSpan, Trace } from './trace.ts';

const execute = promisify(execFile);
const namespace = 'atwatch-picture';

async function kubectl(...args: string[]): Promise<string> {
  const words = ['local-cluster/main.ts', 'kubectl', `--namespace=${namespace}`, ...args];
  const { stdout } = await execute(process.execPath, words, { timeout: 120_000, maxBuffer: 16 << 20 });
  return stdout.trimEnd();
}

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
  };
  readonly status: {
    readonly conditions?: readonly { type: string; status: string; lastTransitionTime: string }[];
    readonly containerStatuses?: readonly {
      readonly state?: { readonly terminated?: { readonly finishedAt: string } };
    }[];
  };
}

/** The Pods of the namespace as they were seen in turn: names, and when each was made, Ready and ended. */
class PodRecord {
  readonly #seen = new Map<string, { created: number; ready?: number; ended?: number }>();

  async look(selector: string, now = Date.now()): Promise<void> {
    const { items } = JSON.parse(await kubectl('get', 'pods', `--selector=${selector}`, '--output=json')) as {
      items: readonly Pod[];
    };
    for (const pod of items) {
      const span = this.#seen.get(pod.metadata.name) ?? { created: now };
      this.#seen.set(pod.metadata.name, span);
      const isReady = pod.status.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      );
      const hasEnded = pod.status.containerStatuses?.some(({ state }) => state?.terminated !== undefined);
      if (isReady || hasEnded) span.ready ??= now;
      if (pod.metadata.deletionTimestamp !== undefined || hasEnded) span.ended ??= now;
    }
    const names = new Set(items.map(({ metadata }) => metadata.name));
    for (const [name, span] of this.#seen) if (!names.has(name)) span.ended ??= now;
  }

  /** @param start where the part begins; the Pods that had been made before are the older ones. */
  spans(start: number): readonly PodSpan[] {
    return Array.from(this.#seen, ([name, { created, ready = created, ended }]) => ({
      name: name.replace(/-[a-z0-9]+(-[a-z0-9]+)$/, '$1'),
      created: created - start,
      ready: ready - start,
      ...(ended === undefined ? {} : { ended: ended - start }),
    }));
  }
}

async function recordAt(): Promise<Part> {
  const start = Date.now();
  const due = new Date(Math.ceil(start / 1000) * 1000 + 4000);
  const at = {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name: 'migrate' },
    spec: { schedule: due.toISOString(), argv: ['sh', '-c', 'sleep 3; echo done'] },
  };
  const file = join(directory, 'at.json');
  await writeFile(file, JSON.stringify(at));
  await kubectl('apply', `--filename=${file}`);
  await kubectl('wait', '--for=jsonpath={.status.phase}=DONE', '--timeout=60s', 'at/migrate');
  const { status } = JSON.parse(await kubectl('get', 'at/migrate', '--output=json'));
  const since = (time: string) => Date.parse(time) - start;
  const launched = since(status.launchTime);
  const pod = {
    name: 'migrate-pod',
    created: launched,
    ready: Math.max(since(status.startTime), launched),
    ended: since(status.completionTime),
  };
  return {
    kind: 'At',
    title: 'kubectl apply, with a schedule a few seconds ahead',
    moments: [
      {
        at: due.getTime() - start,
        text: `the schedule: the Pod is created ${status.latenessMilliseconds} ms later`,
      },
      { at: pod.ended, text: `DONE, ${status.outcome}, exit code ${status.exitCode}` },
    ],
    pods: [pod],
  };
}

async function recordConfigWatcher(): Promise<Part> {
  await kubectl(
    'apply',
    '-f',
    'config/samples/webapp.yaml',
    '-f',
    'config/samples/k8spatterns_v1_configwatcher.yaml',
  );
  await kubectl('scale', 'deployment/webapp', '--replicas=3');
  await kubectl('rollout', 'status', 'deployment/webapp', '--timeout=60s');
  await kubectl('wait', '--for=condition=Ready', '--timeout=60s', 'cw/webapp-config-watcher');
  const pods = new PodRecord();
  await pods.look('app=webapp');
  const start = Date.now();
  await kubectl('patch', 'configmap', 'webapp-config', '--patch={"data":{"message":"Hello"}}');
  const status = await waitFor(
    'the restart to end',
    async () => {
      await pods.look('app=webapp');
      const read = await kubectl('get', 'cw/webapp-config-watcher', '--output=jsonpath={.status}');
      const found = JSON.parse(read);
      return found.lastRestart !== undefined && found.pending === undefined ? found : undefined;
    },
    120_000,
  );
  const spans = pods.spans(start);
  const first = Math.min(...spans.filter(({ created }) => created >= 0).map(({ created }) => created));
  return {
    kind: 'ConfigWatcher',
    title: 'kubectl patch configmap webapp-config',
    moments: [
      { at: 0, text: 'the content changes' },
      { at: first, text: 'after the debounce the Deployment replaces its Pods' },
      { at: Date.now() - start, text: `UpToDate: ${status.matchedPods} Pods with the new content` },
    ],
    pods: spans,
  };
}

const directory = await mkdtemp(join(tmpdir(), 'atwatch-picture-'));
await kubectl('apply', '--server-side', '-k', 'crds');
const crds = await kubectl('get', '-k', 'crds', '--output=name');
await kubectl('wait', '--for=condition=Established', '--timeout=30s', ...crds.split('\n'));
await kubectl('create', 'namespace', namespace);
await kubectl('wait', '--for=create', '--timeout=30s', 'serviceaccount/default');
const operator = await startOperator(process.env.KUBECONFIG ?? '', join(directory, 'operator.log'));
try {
  const trace: Trace = { parts: [await recordAt(), await recordConfigWatcher()] };
  await writeFile('docs/images/at-work.json', `${JSON.stringify(trace, undefined, 2)}\n`);
  await writeFile('docs/images/at-work.svg', draw(trace));
  console.log('wrote docs/images/at-work.svg');
} finally {
  await operator.stop();
  await rm(directory, { recursive: true, force: true });
}
