import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { kubectl, withNamespace } from '../e2e/kubectl.ts';
import { installCrds } from './admission.ts';

const books = '../shared/books';
const skip = existsSync(books) ? false : `the books' manifests are not at ${books}`;

before(installCrds);

describe("the books' own manifests", { skip }, () => {
  for (const file of [
    'cnat/kubebuilder-cnat_v1alpha1_at.yaml',
    'cnat/readme-runat.yaml',
    'cnat/operator-cnat_v1alpha1_at_cr.yaml',
    'cnat/client-go-cnat-example.yaml',
  ]) {
    it(`${file} is taken, and taken again`, async (t) => {
      const namespace = await withNamespace(t);
      assert.match(await namespace.kubectl('apply', `--filename=${books}/${file}`), /example-at created/);
      assert.match(await namespace.kubectl('apply', `--filename=${books}/${file}`), /example-at unchanged/);
    });
  }

  it('k8spatterns/io is taken', async (t) => {
    const namespace = await withNamespace(t);
    for (const file of ['operator-web-app.yml', 'operator-config-watcher-sample.yml']) {
      await namespace.kubectl('apply', `--filename=${books}/k8spatterns/io/${file}`);
    }
    assert.match(
      await namespace.kubectl('get', 'cw'),
      /webapp-config-watcher +webapp-config +\{"app":"webapp"\}/,
    );
  });
});

describe('config/samples', () => {
  it('are taken together', async (t) => {
    const namespace = await withNamespace(t);
    const output = await namespace.kubectl('apply', '--kustomize=config/samples');
    for (const name of ['at.*/example-at', 'configwatcher.*/webapp-config-watcher', 'deployment.*/webapp']) {
      assert.match(output, new RegExp(`${name} created`));
    }
  });
});

describe('kubectl get', () => {
  const header = async (...args: string[]) => (await kubectl(['get', ...args])).split('\n')[0] ?? '';
  const columns = (text: string) => text.trim().split(/ {2,}/);

  it('shows the columns of both kinds', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.kubectl('apply', '--kustomize=config/samples');
    const at = [`--namespace=${namespace.name}`, 'ats'];
    const atColumns = ['NAME', 'SCHEDULE', 'TIMEZONE', 'PHASE', 'OUTCOME', 'REASON', 'EXIT', 'AGE'];
    assert.deepEqual(columns(await header(...at)), atColumns);
    assert.deepEqual(columns(await header(...at, '--output=wide')), [
      ...atColumns,
      ...['UTC', 'LATE', 'POD', 'STARTED', 'FINISHED', 'MESSAGE'],
    ]);
    const watcher = [`--namespace=${namespace.name}`, 'cw'];
    const ours = ['READY', 'STATE', 'PODS', 'STALE', 'LAST-RESTART', 'AGE'];
    const watcherColumns = ['NAME', 'CONFIGMAP', 'PODSELECTOR', ...ours];
    assert.deepEqual(columns(await header(...watcher)), watcherColumns);
    assert.deepEqual(columns(await header(...watcher, '--output=wide')), [
      ...watcherColumns,
      ...['STRATEGY', 'RESTARTS', 'HASH'],
    ]);
    assert.match(
      await namespace.kubectl('get', 'all'),
      /configwatcher\.k8spatterns\.io\/webapp-config-watcher/,
    );
  });

  it('fills the columns from status', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.kubectl('apply', '--kustomize=config/samples');
    const patch = (what: string, status: object) =>
      namespace.kubectl(
        ...['patch', what, '--type=merge', '--subresource=status', `--patch=${JSON.stringify({ status })}`],
      );
    const done = { phase: 'DONE', outcome: 'Failed', reason: 'CommandFailed', exitCode: 3 };
    await patch('at/example-at', {
      ...done,
      operatorDelaySeconds: 30,
      scheduledTime: '2019-04-12T10:12:00.000Z',
    });
    const lastTransitionTime = '2030-01-31T09:00:00Z';
    const ready = { type: 'Ready', status: 'True', reason: 'Watching', message: '', lastTransitionTime };
    const upToDate = { ...ready, type: 'Progressing', status: 'False', reason: 'UpToDate' };
    const appliedHash = `v1:${'0123456789abcdef'.repeat(4)}`;
    const lastRestartTime = new Date(Date.now() - 3 * 86_400_000 - 3_600_000).toISOString();
    await patch('cw/webapp-config-watcher', {
      ...{ conditions: [ready, upToDate], matchedPods: 2, stalePods: 7, lastRestartTime },
      ...{ strategyInUse: 'Evict', restartCount: 41, appliedHash },
    });
    assert.match(
      await namespace.kubectl('get', 'at/example-at'),
      /example-at +2019-04-12T10:12:00Z +DONE +Failed +CommandFailed +3 /,
    );
    assert.match(
      await namespace.kubectl('get', 'at/example-at', '--output=wide'),
      / +2019-04-12T10:12:00.000Z +30$/m,
    );
    const row = (...args: string[]) =>
      namespace.kubectl('get', 'cw/webapp-config-watcher', '--no-headers', ...args);
    const cells = / +True +UpToDate +2 +7 +3d1h +\d+[sm]\d*s?/.source;
    assert.match(await row(), new RegExp(`${cells}$`));
    assert.match(await row('--output=wide'), new RegExp(`${cells} +Evict +41 +${appliedHash}$`));
  });

  it('selects Ats by phase', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.kubectl('apply', '--kustomize=config/samples');
    const select = (phase: string) =>
      namespace.kubectl('get', 'ats', '--output=name', `--field-selector=status.phase=${phase}`);
    assert.match(await select('PENDING'), /example-at$/);
    assert.equal(await select('DONE'), '');
  });
});

describe('kubectl explain', () => {
  it('helps with a schedule', async () => {
    const text = (await kubectl(['explain', 'at.spec.schedule'])).replaceAll(/\s+/g, ' ');
    assert.match(text, /FIELD: schedule <string>/);
    assert.match(text, /an RFC 3339 timestamp such as 2030-01-31T09:00:00Z/);
  });

  for (const kind of ['at', 'configwatcher']) {
    it(`has words for every field of ${kind}`, async () => {
      const openApi = JSON.parse(
        await kubectl([
          'get',
          '--raw',
          kind === 'at'
            ? '/openapi/v3/apis/cnat.programming-kubernetes.info/v1alpha1'
            : '/openapi/v3/apis/k8spatterns.io/v1',
        ]),
      );
      const schemas: Record<string, Described> = openApi.components.schemas;
      const [, schema] = Object.entries(schemas).find(([name]) => /\.(At|ConfigWatcher)$/.test(name)) ?? [];
      assert.deepEqual(undescribed(schema?.properties?.spec ?? {}, 'spec'), []);
      assert.deepEqual(undescribed(schema?.properties?.status ?? {}, 'status'), []);
    });
  }
});

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
}

/** The paths that have no description. Items of a list of scalars need none. */
function undescribed(schema: Described, path: string): string[] {
  const fields = { ...schema.properties, ...schema.items?.properties };
  return [
    ...(schema.description ? [] : [path]),
    ...Object.entries(fields).flatMap(([name, field]) => undescribed(field, `${path}.${name}`)),
  ];
}
