import { after, before, describe, test } from 'node:test';
import { readRows } from '../conformance/reads.ts';
import { type Subject, widgets } from '../conformance/subject.ts';
import { writeRows } from '../conformance/writes.ts';
import { FakeApiServer } from './api-server.ts';
import { connectTo } from './connection.ts';

describe('the fake API server does what the real one does', () => {
  let server: FakeApiServer;
  let subject: Subject;
  before(async () => {
    server = await FakeApiServer.start({ resources: [widgets] });
    subject = { client: connectTo(server).client, namespace: 'conformance' };
  });
  after(() => server.stop());
  for (const { title, run } of [...writeRows, ...readRows]) test(title, () => run(subject));
});
