import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { auditPolicy } from '../../local-cluster/audit.ts';

test('the audit log has one line for each request, without bodies', () => {
  const policy = parse(auditPolicy);
  assert.deepEqual(policy.omitStages, ['RequestReceived']);
  assert.deepEqual(policy.rules, [{ level: 'Metadata' }]);
});
