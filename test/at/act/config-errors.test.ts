import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ConfigErrors } from '../../../src/at/act/config-errors.ts';
import { created, inState, started, waiting } from '../../fixtures/at.ts';

it('knows since when a Pod lacks a part of its configuration', () => {
  const errors = new ConfigErrors();
  const pod = inState(created(waiting()), { waiting: { reason: 'CreateContainerConfigError' } });
  const other = { ...pod, metadata: { ...pod.metadata, uid: 'other' } };
  assert.equal(errors.age('a', pod, 1000), 0);
  assert.equal(errors.age('a', pod, 5000), 4000);
  assert.equal(errors.age('a', other, 6000), 0);
  assert.equal(errors.age('a', started(other), 7000), undefined);
  assert.equal(errors.age('a', other, 8000), 0);
  assert.equal(errors.age('a', undefined, 9000), undefined);
});
