import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { kubectl } from './kubectl.ts';

describe('the demo', () => {
  it('tells the main job to its end', { timeout: 180_000 }, async () => {
    // As on a user's cluster, from which it has to remove what it brought.
    const { ATWATCH_CLUSTER: _, ...env } = process.env;
    const options = { timeout: 170_000, env };
    const { stdout } = await promisify(execFile)(process.execPath, ['hack/demo.ts'], options);
    const saw = (pattern: RegExp) => assert.match(stdout, pattern);
    saw(/\$ kubectl get ats,pods\n.*\n.*example-at +2019-04-12T10:12:00Z +DONE +Succeeded/);
    saw(/\$ kubectl logs example-at-pod\nYAY\n/);
    saw(/\$ kubectl patch configmap webapp-config /);
    saw(/\$ curl webapp:8080\nGreets from your smooth operator!/);
    saw(/Everything that the demo brought is gone/);
    assert.equal(await kubectl(['get', 'namespace', 'atwatch-demo', '--ignore-not-found']), '');
  });
});
