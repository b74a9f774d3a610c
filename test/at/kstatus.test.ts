/**
 * What kstatus takes an At for, by its generic rules (kubernetes-sigs/cli-utils, pkg/kstatus/status), written down
 * here once more. The library itself is asked in test/integration/kstatus.test.ts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { type Judgement, judged } from './judged.ts';

function judge({ metadata, status }: At): Judgement {
  const is = (type: string) => findCondition(status?.conditions, type)?.status;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) {
    return 'InProgress';
  }
  if (is('Reconciling') === 'True') return 'InProgress';
  if (is('Stalled') === 'True') return 'Failed';
  return is('Ready') === 'False' || is('Ready') === 'Unknown' ? 'InProgress' : 'Current';
}

describe('kstatus', () => {
  for (const { name, at, is } of judged) {
    it(`takes an At ${name} for ${is}`, () => assert.equal(judge(at), is));
  }
});
