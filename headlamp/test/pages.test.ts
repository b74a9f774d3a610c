/** The plugin's pages in a browser, of Ats and a restart on a real node: `make test-headlamp`. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually, installCrds, kubectl } from '../../test/e2e/kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from '../../test/e2e/operator.ts';
import { runKubectl } from '../../test/fixtures/kubectl-plugin.ts';
import { type ServedPages, servePages } from './served-pages.ts';

const namespace = 'shop';
/** Where the pictures of the documents are kept; they are taken when it is set. */
const pictures = process.env.PICTURES;

/** Its new Pods are never Ready, so that the restart stays in its middle. */
const shop = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {colour: blue}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: web
          image: busybox
          command: [sleep, infinity]
          envFrom: [{configMapRef: {name: web-config}}]
          readinessProbe: {exec: {command: [sh, -c, 'test "$colour" = blue']}, periodSeconds: 1}
---
apiVersion: k8spatterns.io/v1
kind: ConfigWatcher
metadata: {name: web}
spec:
  configMap: web-config
  podSelector: {app: web}
  debounce: {quiet: 0s}
  strategy: {type: Evict}
`;

describe('the pages of the Headlamp plugin', () => {
  let operator: OperatorUnderTest;
  let pages: ServedPages;
  const inShop = (...words: string[]) => kubectl(['--namespace', namespace, ...words]);
  const at = (words: string[], command: string[]) =>
    runKubectl(['at', ...words, '--namespace', namespace, ...(command.length > 0 ? ['--', ...command] : [])]);

  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
    await kubectl(['create', 'namespace', namespace]);
    await inShop('wait', '--for=create', 'serviceaccount/default', '--timeout=30s');
    await kubectl(['--namespace', namespace, 'apply', '--filename=-'], shop);
    await at(['now', '--name', 'backup'], ['sh', '-c', 'echo begin; sleep 2; echo copied 3 files']);
    await at(['now', '--name', 'check', '--retries', '0'], ['sh', '-c', 'echo disk is full >&2; exit 3']);
    await at(['2099-03-02 9:00', '--name', 'report'], ['./report.sh', '--month', '2']);
    await at(['wait', 'backup', '--timeout', '100s'], []);
    await at(['wait', 'check', '--timeout', '100s'], []);
    await inShop('wait', '--for=condition=Available', '--timeout=100s', 'deployment/web');
    await inShop('wait', '--for=jsonpath={.status.matchedPods}=3', '--timeout=100s', 'configwatcher/web');
    pages = await servePages(process.env.KUBECONFIG ?? '');
  });

  after(async () => {
    await pages?.stop();
    await kubectl(['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found']);
    await operator?.remove();
  });

  async function take(page: Page, name: string): Promise<void> {
    if (pictures !== undefined)
      await page.screenshot({ path: `${pictures}/${name}.png`, animations: 'disabled' });
  }

  /** The cells of the row that has this text. */
  async function rowWith(page: Page, text: string): Promise<readonly string[]> {
    const row = page.getByRole('row').filter({ hasText: text }).first();
    await row.waitFor();
    return row.getByRole('cell').allInnerTexts();
  }

  it('list Ats with their states', async () => {
    const page = await pages.open('/atwatch/ats');
    const check = (await rowWith(page, 'disk is full')).join(' | ');
    assert.match(check, /check \| shop \| Failed \| .* ago \| \d+s \| sh -c 'echo disk/);
    assert.match((await rowWith(page, 'report')).join(' | '), /Waiting \| 2 Mar 2099 09:00/);
    assert.match((await rowWith(page, 'backup')).join(' | '), /Succeeded/);
    await take(page, 'headlamp-ats');
  });

  it('tell the timeline of a run, and lead to its log', async () => {
    const page = await pages.open('/atwatch/ats');
    await page.getByRole('link', { name: 'check', exact: true }).click();
    for (const text of [
      'created with kubectl-atwatch',
      'Launched: created Pod check-pod',
      'the command ended with exit code 3',
      'Failed (exit code 3): disk is full',
    ]) {
      assert.ok((await rowWith(page, text)).join(' ').includes(text), text);
    }
    await take(page, 'headlamp-at');
    const log = page.getByRole('link', { name: 'the output of check-pod' });
    assert.equal(await log.getAttribute('href'), '/c/main/pods/shop/check-pod?view=logs');
    await log.click();
    await page.getByText('Logs: check-pod').first().waitFor();
    await page.getByText('disk is full').first().waitFor();
  });

  it('show how far a restart is with each owner', async () => {
    await inShop('patch', 'configmap', 'web-config', '--patch', '{"data":{"colour":"green"}}');
    await eventually('a new Pod that is not available', async () => {
      const states = await inShop(
        'get',
        'pods',
        '--output=jsonpath={.items[*].status.containerStatuses[0].ready}',
      );
      const { pending } = JSON.parse(await inShop('get', 'configwatcher', 'web', '--output=json')).status;
      return states === 'true true false' || (states.includes('false') && pending?.owners?.length === 1);
    });
    const list = await pages.open('/atwatch/configwatchers');
    assert.match(
      (await rowWith(list, 'web-config')).join(' | '),
      /web \| shop \| InProgress \| web-config \| 3/,
    );
    await list.getByRole('link', { name: 'web', exact: true }).click();
    await list.getByRole('heading', { name: /^Restart: \d of 3 Pods done$/ }).waitFor();
    assert.deepEqual(await rowWith(list, 'Deployment/web'), [
      'Deployment/web',
      '1 of 3',
      '0 of 3',
      'InProgress',
    ]);
    await take(list, 'headlamp-configwatcher');
  });

  it('leave no error in the browser', () => {
    assert.deepEqual(pages.errors, []);
  });
});
