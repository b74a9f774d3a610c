import assert from 'node:assert/strict';
import { it } from 'node:test';
import { HourlyEvents } from '../../../src/at/act/hourly-events.ts';
import { waiting } from '../../fixtures/at.ts';

const hour = 3_600_000;
const event = (reason: string) => ({ type: 'Warning', reason, action: 'CreatePod', note: 'why' }) as const;

it('of each reason for which an At has no Pod there is one Event an hour', () => {
  const hourly = new HourlyEvents();
  const [one, other] = [waiting(), waiting({}, { uid: 'other' })];
  assert.equal(hourly.take(one, event('PodRejected'), 0), true);
  assert.equal(hourly.take(one, event('CreateFailed'), 1000), true);
  assert.equal(hourly.take(one, event('PodRejected'), hour - 1), false);
  assert.equal(hourly.take(other, event('PodRejected'), hour - 1), true);
  assert.equal(hourly.take(one, event('PodRejected'), hour), true);
  assert.equal(hourly.take(one, event('PodRejected'), 2 * hour - 1), false);
});

it('a missing right of the author is such a reason', () => {
  const hourly = new HourlyEvents();
  assert.equal(hourly.take(waiting(), event('NotAuthorized'), 0), true);
  assert.equal(hourly.take(waiting(), event('NotAuthorized'), hour - 1), false);
});

it('of what happens to an At there is an Event each time', () => {
  const hourly = new HourlyEvents();
  for (const now of [0, 1]) assert.equal(hourly.take(waiting(), event('Suspended'), now), true);
});

it('after another process may have recorded one, the next comes with the next full hour of the hold', () => {
  const hourly = new HourlyEvents();
  const at = waiting();
  const repeated = { ...event('PodRejected'), isRepeated: true };
  const heldForMs = 2 * hour + 1000;
  assert.equal(hourly.take(at, repeated, 0, heldForMs), false);
  assert.equal(hourly.take(at, repeated, hour - 1001, heldForMs + hour - 1001), false);
  assert.equal(hourly.take(at, repeated, hour - 1000, heldForMs + hour - 1000), true);
  assert.equal(hourly.take(at, repeated, 2 * hour - 1001, heldForMs + 2 * hour - 1001), false);
});

it('another reason is told at once, however long the Pod has been held', () => {
  const hourly = new HourlyEvents();
  assert.equal(hourly.take(waiting(), event('CreateFailed'), 0, 2 * hour), true);
});
