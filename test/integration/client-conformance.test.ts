import { after, before, describe, test } from 'node:test';
import { rawRequests } from '../conformance/raw-requests.ts';
import { conformanceRows } from '../conformance/rows.ts';
import { type Subject, widgetsDefinition } from '../conformance/subject.ts';
import { applyCrd, applyCrds, connectToTestCluster, createNamespace } from './support.ts';

const { client, kubeConfig } = connectToTestCluster();
/** Minor version that the fake one speaks like; words and defaults were others before. */
const spokenSince = 36;
const api = await rawRequests(kubeConfig);
const { minor } = (await api.send('GET', '/version')).body;
const skip =
  Number.parseInt(minor, 10) < spokenSince && `the fake one speaks like Kubernetes 1.${spokenSince}`;

describe('the real API server does what the fake one does', () => {
  let subject: Subject;
  let remove = async () => {};
  before(async () => {
    await applyCrds();
    await applyCrd(client, widgetsDefinition);
    const created = await createNamespace();
    remove = created.remove;
    subject = { client, namespace: created.name, api };
  });
  after(() => remove());
  for (const { about, rows } of conformanceRows) {
    describe(about, () => {
      for (const { title, run } of rows) test(title, { skip }, () => run(subject));
    });
  }
});
