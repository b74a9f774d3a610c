import { after, before, describe, test } from 'node:test';
import { readRows } from '../conformance/reads.ts';
import { type Subject, widgetsDefinition } from '../conformance/subject.ts';
import { writeRows } from '../conformance/writes.ts';
import { applyCrd, connectToTestCluster, createNamespace } from './support.ts';

describe('the real API server does what the fake one does', () => {
  const { client } = connectToTestCluster();
  let subject: Subject;
  let remove = async () => {};
  before(async () => {
    await applyCrd(client, widgetsDefinition);
    const created = await createNamespace();
    remove = created.remove;
    subject = { client, namespace: created.name };
  });
  after(() => remove());
  for (const { title, run } of [...writeRows, ...readRows]) test(title, () => run(subject));
});
