import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../src/testing/random.ts';

function draws(random: Random, count = 1000): number[] {
  return Array.from({ length: count }, () => random.next());
}

test('a seed gives the same numbers, another seed others', () => {
  assert.deepEqual(draws(new Random('a')), draws(new Random('a')));
  assert.notDeepEqual(draws(new Random('a')), draws(new Random('b')));
});

test('numbers lie in their ranges and spread over them', () => {
  const random = new Random('spread');
  const numbers = draws(random, 10_000);
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  assert.ok(mean > 0.48 && mean < 0.52, String(mean));
  const dice = Array.from({ length: 6000 }, () => random.integer(6));
  for (let side = 0; side < 6; side++) {
    const count = dice.filter((value) => value === side).length;
    assert.ok(count > 850 && count < 1150, `${side}: ${count}`);
  }
  const heads = Array.from({ length: 10_000 }, () => random.chance(0.25)).filter(Boolean).length;
  assert.ok(heads > 2300 && heads < 2700, String(heads));
  assert.throws(() => random.pick([]), RangeError);
  assert.deepEqual(new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b']))), new Set(['a', 'b']));
});

test('a fork depends on the seed and its label, not on what was drawn before', () => {
  const [one, other] = [new Random('seed'), new Random('seed')];
  draws(other, 17);
  assert.deepEqual(draws(one.fork('x')), draws(other.fork('x')));
  assert.notDeepEqual(draws(one.fork('x')), draws(one.fork('y')));
});

test('a uuid is one of version 4', () => {
  const random = new Random('uuid');
  const uuids = Array.from({ length: 100 }, () => random.uuid());
  for (const uuid of uuids)
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(uuids).size, 100);
});
