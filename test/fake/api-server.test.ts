import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { accessReviews } from '../../src/testing/api-server/access-reviews.ts';
import { clusterResources } from '../../src/testing/api-server/cluster-resources.ts';
import { rightsResources } from '../../src/testing/api-server/rights.ts';
import { expiryRows } from '../conformance/expiry.ts';
import { rawRequests } from '../conformance/raw-requests.ts';
import { conformanceRows } from '../conformance/rows.ts';
import { type Subject, widgets } from '../conformance/subject.ts';
import { FakeApiServer } from './api-server.ts';
import { connectTo } from './connection.ts';

describe('the fake API server does what the real one does', () => {
  let server: FakeApiServer;
  let subject: Subject;
  before(async () => {
    const custom = { ...widgets, managedFields: true };
    const resources = [...clusterResources, ...rightsResources, accessReviews, custom];
    server = await FakeApiServer.start({ resources });
    const api = await rawRequests(server.kubeConfig());
    for (const name of ['conformance', 'default']) {
      await api.send('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
    }
    for (const file of ['crds/ats.yaml', 'crds/configwatchers.yaml']) {
      const body = parse(await readFile(file, 'utf8'));
      await api.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body });
    }
    subject = { client: connectTo(server).client, namespace: 'conformance', api };
  });
  after(() => server.stop());
  describe('a past that is forgotten', () => {
    const forgetThePast = async () => server.store.compact();
    for (const { title, run } of expiryRows) test(title, () => run({ ...subject, forgetThePast }));
  });
  for (const { about, rows } of conformanceRows) {
    describe(about, () => {
      for (const { title, run } of rows) test(title, () => run(subject));
    });
  }
});
