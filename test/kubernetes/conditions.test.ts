import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findCondition,
  isConditionTrue,
  removeCondition,
  setCondition,
} from '../../src/kubernetes/conditions.ts';
import type { Condition } from '../../src/kubernetes/objects.ts';

const earlier = Date.UTC(2030, 0, 31, 9, 0, 0);
const later = earlier + 60_000;
const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Armed',
  message: 'waits',
  observedGeneration: 1,
  lastTransitionTime: '2030-01-31T09:00:00Z',
};
const stalled: Condition = { ...ready, type: 'Stalled', status: 'False' };

test('a new condition goes to the end with the time of now', () => {
  const { lastTransitionTime: _, ...stated } = ready;
  assert.deepEqual(setCondition(undefined, stated, earlier), [ready]);
  assert.deepEqual(setCondition([stalled], stated, earlier), [stalled, ready]);
});

test('only a change of status moves lastTransitionTime', () => {
  const [reworded] = setCondition([ready], { ...ready, message: 'still waits' }, later);
  assert.equal(reworded?.lastTransitionTime, '2030-01-31T09:00:00Z');
  assert.equal(reworded?.message, 'still waits');
  const [changed] = setCondition([ready], { ...ready, status: 'False' }, later);
  assert.equal(changed?.lastTransitionTime, '2030-01-31T09:01:00Z');
});

test('a condition stays in its place', () => {
  const types = setCondition([ready, stalled], { ...ready, status: 'False' }, later).map(({ type }) => type);
  assert.deepEqual(types, ['Ready', 'Stalled']);
});

test('nothing new gives the very same list, so that nothing is written', () => {
  const list = [ready, stalled];
  assert.equal(setCondition(list, { ...ready }, later), list);
  assert.equal(removeCondition(list, 'Absent'), list);
});

test('a field that goes away counts as a change', () => {
  const { observedGeneration: _, ...without } = ready;
  const [changed] = setCondition([ready], without, later);
  assert.equal(changed?.observedGeneration, undefined);
});

test('conditions are found, asked and removed by type', () => {
  assert.equal(findCondition([ready, stalled], 'Stalled'), stalled);
  assert.equal(isConditionTrue([ready, stalled], 'Ready'), true);
  assert.equal(isConditionTrue([ready, stalled], 'Stalled'), false);
  assert.equal(isConditionTrue([{ ...ready, status: 'Unknown' }], 'Ready'), false);
  assert.equal(isConditionTrue(undefined, 'Ready'), false);
  assert.deepEqual(removeCondition([ready, stalled], 'Ready'), [stalled]);
});
