import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { isRefused } from '../../../src/at/plan/phase.ts';
import {
  accepted,
  decideInParts as decide,
  edited,
  launched,
  observing,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

/** Due, and its Pod was not taken. */
const held = withStatus(
  waiting(),
  decide(observing({ refusal: { reason: 'PodRejected', message: 'exceeded quota' } })).status,
);

describe('an At whose Pod the API server does not take', () => {
  const rows: readonly { readonly name: string; readonly at: At; readonly is: boolean }[] = [
    { name: 'one that was refused', at: held, is: true },
    { name: 'a new one', at: waiting(), is: false },
    { name: 'an accepted one', at: accepted(), is: false },
    { name: 'one that was edited since', at: edited(held, { image: 'alpine' }), is: false },
    { name: 'one that runs', at: launched(), is: false },
    { name: 'one that has ended', at: withStatus(held, { ...held.status, phase: 'DONE' }), is: false },
  ];
  for (const { name, at, is } of rows) {
    it(`is ${is ? '' : 'not '}${name}`, () => assert.equal(isRefused(at), is));
  }
});
