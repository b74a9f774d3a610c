import { after, before, describe, test } from 'node:test';
import { simulatedVersion } from '../../src/testing/api-server/discovery.ts';
import { rawRequests } from '../conformance/raw-requests.ts';
import { conformanceRows } from '../conformance/rows.ts';
import { type Subject, widgetsDefinition } from '../conformance/subject.ts';
import { applyCrd, applyCrds, connectToTestCluster, createNamespace, skipBefore } from './support.ts';

const { client, kubeConfig } = connectToTestCluster();
const skip = await skipBefore(
  Number(simulatedVersion.minor),
  'words and defaults were others than the fake one has',
);

describe('the real API server does what the fake one does', () => {
  let subject: Subject;
  let remove = async () => {};
  before(async () => {
    await applyCrds();
    await applyCrd(client, widgetsDefinition);
    const created = await createNamespace();
    remove = created.remove;
    subject = { client, namespace: created.name, api: await rawRequests(kubeConfig) };
  });
  after(() => remove());
  for (const { about, rows } of conformanceRows) {
    describe(about, () => {
      for (const { title, run } of rows) test(title, { skip }, () => run(subject));
    });
  }
});
