/**
 * What becomes of stored objects when a CRD without rules (the book's own) takes the place of ours, and ours
 * comes back. On a control plane of its own: the CRDs of the other tests stay alone.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startOperator } from '../../hack/operator-process.ts';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { readSpec, type WatcherSpec } from '../../src/configwatcher/plan/spec.ts';
import { strategies } from '../../src/configwatcher/plan/strategies.ts';
import { baseAtSpec } from '../api/at-rows.ts';
import { baseConfigWatcherSpec } from '../api/configwatcher-rows.ts';
import { eventually, skipBefore } from './support.ts';

const books = '../shared/books/k8spatterns';
const skip = existsSync(books) ? false : `the books' manifests are not at ${books}`;

/** All that the book's sample says. */
const ofTheBook = { configMap: 'webapp-config', podSelector: { app: 'webapp' } };
/** What it comes to, with every default. */
const withDefaults: WatcherSpec = {
  sources: [{ kind: 'ConfigMap', name: 'webapp-config', keys: [], optional: false }],
  selector: { matchLabels: { app: 'webapp' }, matchExpressions: [] },
  ...{ onlyReferencing: false, suspend: false, dryRun: false, restartOnDelete: false, windows: [] },
  strategy: {
    ...strategies.Auto,
    ...{ maxUnavailable: { percent: 25 }, maxOwners: 10, canary: true, minReady: undefined },
    ...{ deleteUnmanaged: false, deleteJobPods: false, progressDeadline: 600_000 },
  },
  debounce: { quiet: 2000, max: 30_000 },
  cooldown: { base: 30_000, max: 600_000 },
};

let controlPlane: ControlPlane;
before(async () => {
  controlPlane = await startControlPlane({ scheduler: false });
  await kubectl('apply', '--server-side', '--force-conflicts', '--kustomize=crds');
  await soon(() => kubectl('get', 'ats,configwatchers'));
});
after(() => controlPlane?.stop());

const kubectl = (...args: string[]) => controlPlane.kubectl(args);

/** The API server goes over to a changed CRD after a moment. */
const soon = (attempt: () => Promise<string>) => eventually(attempt, { timeout: 30_000, interval: 200 });

/** A CRD of these names that takes whatever it is given. */
function laxCrd(group: string, plural: string, kind: string, version: string): object {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

const at = { apiVersion: 'cnat.programming-kubernetes.info/v1alpha1', kind: 'At' };
const watcher = { apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher' };
const longName = 'x'.repeat(64);
/** What only a CRD without rules lets in. */
const poison = [
  { ...at, metadata: { name: 'bad-schedule' }, spec: { schedule: '2030-02-30T00:00:00Z', command: 'x' } },
  { ...at, metadata: { name: longName }, spec: baseAtSpec },
  { ...watcher, metadata: { name: 'empty-selector' }, spec: { configMap: 'a', podSelector: {} } },
  {
    ...watcher,
    metadata: { name: 'bad-duration' },
    spec: { ...baseConfigWatcherSpec, debounce: { quiet: 'x' } },
  },
];

/** As above, and left for an operator to find. */
const noSchedule = { ...at, metadata: { name: 'no-schedule' }, spec: { schedule: 'soon', command: 'x' } };
const wrongTypes = { ...at, metadata: { name: 'wrong-types' }, spec: { schedule: 5, command: ['x'] } };

const ofStatus = { skip: await skipBefore(33, 'a status is refused for what its object breaks already') };

describe('objects that a CRD without rules let in', () => {
  before(async () => {
    for (const crd of [
      laxCrd('cnat.programming-kubernetes.info', 'ats', 'At', 'v1alpha1'),
      laxCrd('k8spatterns.io', 'configwatchers', 'ConfigWatcher', 'v1'),
    ]) {
      await controlPlane.kubectl(['replace', '--filename=-'], JSON.stringify(crd));
    }
    for (const object of [...poison, noSchedule, wrongTypes]) {
      await soon(() =>
        controlPlane.kubectl(['create', '--validate=false', '--filename=-'], JSON.stringify(object)),
      );
    }
    await kubectl('apply', '--server-side', '--force-conflicts', '--kustomize=crds');
    await soon(() => kubectl('get', '--raw', `${path('ats', 'bad-schedule')}/status`));
    await soon(() => kubectl('get', '--raw', `${path('configwatchers', 'bad-duration')}/status`));
  });

  const subjects = poison.map(({ kind, metadata: { name } }) => ({
    name,
    plural: kind === 'At' ? 'ats' : 'configwatchers',
  }));

  for (const { plural, name } of subjects) {
    const patch = (body: object, ...more: string[]) =>
      kubectl('patch', plural, name, '--type=merge', `--patch=${JSON.stringify(body)}`, ...more);

    it(`${name.slice(0, 20)} can be told in its status what is wrong with it`, ofStatus, async () => {
      const lastTransitionTime = '2030-01-31T09:00:00Z';
      const condition = {
        type: 'Ready',
        status: 'False',
        reason: 'InvalidSpec',
        message: 'x',
        lastTransitionTime,
      };
      await patch({ status: { observedGeneration: 1, conditions: [condition] } }, '--subresource=status');
    });

    it(`${name.slice(0, 20)} lets its finalizers go`, async () => {
      await patch({ metadata: { finalizers: ['example.com/hold'] } });
      await kubectl('delete', plural, name, '--wait=false');
      await patch({ metadata: { finalizers: null } });
      await kubectl('wait', '--for=delete', `${plural}/${name}`, '--timeout=30s');
    });
  }
});

/** The Events about the object, once they match. */
const told = (name: string, expected: RegExp) =>
  soon(async () => {
    const events = await kubectl('get', 'events', `--field-selector=involvedObject.name=${name}`);
    assert.match(events, expected);
    return events;
  });

describe('an object with wrong types that a CRD without rules let in', () => {
  it('is told in an Event what is wrong, as its status takes nothing, and is then left in peace', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atwatch-wrong-types-'));
    const log = join(directory, 'log');
    const operator = await startOperator(controlPlane.kubeconfig, log, { flags: ['--leader-elect=false'] });
    try {
      await told('wrong-types', /Warning +(InvalidSchedule|InvalidCommand) /);
      // One whose types are right has one Warning, too.
      const events = await told('no-schedule', /Warning +InvalidSchedule /);
      assert.equal(events.trimEnd().split('\n').length, 2, events);
      const lines = (await readFile(log, 'utf8')).split('\n').filter((line) => line.includes('wrong-types'));
      assert.ok(lines.length <= 3, lines.join('\n'));
    } finally {
      await operator.stop();
      await rm(directory, { recursive: true });
    }
  });

  it('can be deleted, but not changed: the API server cannot run rules over it', async () => {
    assert.match(
      await kubectl(
        'patch',
        'ats',
        'wrong-types',
        '--type=merge',
        '--patch={"metadata":{"labels":{"a":"b"}}}',
      ).catch(String),
      /invalid data, expected string/,
    );
    await kubectl('delete', 'ats', 'wrong-types', '--timeout=30s');
  });
});

describe("the book's own CRDs", { skip }, () => {
  it('of the other group is served beside ours', async () => {
    await kubectl('apply', '--server-side', '--kustomize=crds/com');
    const sample = `${books}/com/operator-config-watcher-sample.yml`;
    await soon(() => kubectl('apply', `--filename=${sample}`));
    assert.match(
      await kubectl('get', 'configwatchers.k8spatterns.com'),
      /webapp-config-watcher +webapp-config +\{"app":"webapp"\}/,
    );
    await kubectl('delete', '--kustomize=crds/com');
  });

  it('over ours takes /status and the defaults away, of which the operator has its own, and ours brings both back', async () => {
    const sample = `${books}/io/operator-config-watcher-sample.yml`;
    await soon(() => kubectl('apply', `--filename=${sample}`));
    const stored = async () =>
      JSON.parse(await kubectl('get', '--raw', path('configwatchers', 'webapp-config-watcher'))).spec;
    assert.deepEqual(readSpec(await stored()), withDefaults);
    await kubectl('apply', '--validate=false', `--filename=${books}/io/operator-config-watcher-crd.yml`);
    const url = path('configwatchers', 'webapp-config-watcher');
    await eventually(async () => {
      await assert.rejects(kubectl('get', '--raw', `${url}/status`), /NotFound|not find/);
      return true;
    });
    const bare = await stored();
    assert.deepEqual(bare, ofTheBook);
    assert.deepEqual(readSpec(bare), withDefaults);
    await kubectl('apply', '--server-side', '--force-conflicts', '--kustomize=crds');
    await soon(() => kubectl('get', '--raw', `${url}/status`));
    assert.deepEqual((await stored()).debounce, { quiet: '2s', max: '30s' });
  });
});

function path(plural: string, name: string): string {
  const group = plural === 'ats' ? 'cnat.programming-kubernetes.info/v1alpha1' : 'k8spatterns.io/v1';
  return `/apis/${group}/namespaces/default/${plural}/${name}`;
}
