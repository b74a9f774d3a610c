/**
 * config/secure-metrics: whom the API server lets read the metrics, asked with the rights that the overlay gives the
 * operator, and shown to a client by HTTPS.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { startOperator } from '../../hack/operator-process.ts';
import { createAuthority } from '../../local-cluster/pki.ts';
import { freePort } from '../../local-cluster/ports.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { MetricsAccess } from '../../src/runtime/metrics/metrics-access.ts';
import { metricsServer } from '../../src/runtime/metrics/metrics-server.ts';
import { ServingCertificate } from '../../src/runtime/metrics/serving-certificate.ts';
import { httpsStatus } from './https-status.ts';
import { operator, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

let world: PolicyWorld;

before(async () => {
  world = await startPolicyWorld(['secure-metrics']);
  for (const name of ['prometheus', 'visitor']) await world.kubectl(['create', 'serviceaccount', name]);
  await world.kubectl([
    ...['create', 'clusterrolebinding', 'prometheus', '--clusterrole=team-atwatch-metrics-reader'],
    '--serviceaccount=default:prometheus',
  ]);
});

after(() => world?.stop());

async function tokenOf(serviceAccount: string): Promise<string> {
  return (await world.kubectl(['create', 'token', serviceAccount])).trim();
}

/** The status with which a server that reviews as `client` answers who shows the token. */
async function answerTo(t: TestContext, client: Client, token?: string): Promise<number | undefined> {
  const clock = systemClock;
  const server = metricsServer({
    ...{ bindAddress: '127.0.0.1:0', registry: new Registry(), log: silentLogger },
    secure: {
      certificate: new ServingCertificate({ clock, log: silentLogger }),
      access: new MetricsAccess({ client, clock }),
    },
  });
  await server.start();
  t.after(() => server.stop());
  return httpsStatus(`https://${server.address}/metrics`, token);
}

describe('the metrics of an operator that is installed with config/secure-metrics', () => {
  it('are for a ServiceAccount with the role metrics-reader, and for no other', async (t) => {
    const client = world.clientOf(operator);
    const token = await tokenOf('prometheus');
    await eventually(async () => (await answerTo(t, client, token)) === 200, {
      message: 'the bindings are in force',
    });
    assert.equal(await answerTo(t, client, await tokenOf('visitor')), 403);
    assert.equal(await answerTo(t, client, `${token.slice(0, -4)}AAAA`), 401);
    assert.equal(await answerTo(t, client), 401);
  });

  it('are for no user while the operator may not ask', async (t) => {
    const client = world.clientOf('system:serviceaccount:other:some-other');
    assert.equal(await answerTo(t, client, await tokenOf('prometheus')), 500);
  });

  it('are served with the certificate that --metrics-cert-path names', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'atwatch-metrics-'));
    t.after(() => rm(directory, { recursive: true }));
    const authority = await createAuthority('metrics-ca');
    const { certificate, key } = await authority.issue({ name: 'metrics', hosts: ['127.0.0.1'] });
    await writeFile(join(directory, 'tls.crt'), certificate);
    await writeFile(join(directory, 'tls.key'), key);
    const port = await freePort();
    const flags = ['--leader-elect=false', '--secure-metrics', `--metrics-cert-path=${directory}`];
    const process = await startOperator(world.kubeconfig, join(directory, 'operator.log'), {
      flags: [...flags, `--metrics-bind-address=127.0.0.1:${port}`],
    });
    t.after(() => process.stop());
    const status = httpsStatus(`https://127.0.0.1:${port}/metrics`, undefined, authority.certificate);
    assert.equal(await status, 401, 'the certificate is trusted, and the client is not known');
  });

  it('are scraped by HTTPS', async () => {
    const rendered = await world.kubectl([
      ...['get', 'deployment', 'team-atwatch-controller-manager', '--namespace=other'],
      '--output=jsonpath={.spec.template.spec.containers[0].args}',
    ]);
    assert.match(rendered, /"--secure-metrics"/);
  });
});
