import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { UnreadableEventError, watchEvents } from '../../../src/runtime/client/watch-stream.ts';
import { FakeClock } from '../../fake/clock.ts';

async function* arriving(...chunks: string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

function eventsOf(clock: FakeClock, ...chunks: string[]) {
  return watchEvents<KubernetesObject>(arriving(...chunks), (object) => object, clock);
}

function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

describe('watchEvents', () => {
  it('lets the event loop turn in the middle of what has arrived at once', async () => {
    const clock = new FakeClock();
    let turns = 0;
    clock.turn = async () => {
      turns++;
    };
    let seen = 0;
    const many = line('ADDED', { metadata: { name: 'a' } }).repeat(10);
    for await (const _event of eventsOf(clock, many)) {
      seen++;
      clock.advance(4);
    }
    assert.equal(seen, 10);
    assert.equal(turns, 3, 'after 12 ms of work each');
  });

  for (const [what, text] of [
    ['no JSON', 'nonsense\n'],
    ['nothing', 'null\n'],
    ['of no known type', line('MOVED', {})],
    ['without an object', line('ADDED', null)],
    ['a bookmark without a version', line('BOOKMARK', { metadata: {} })],
    ['a bookmark without metadata', line('BOOKMARK', {})],
    ['cut off', '{"type":"ADDED"'],
  ] as const) {
    it(`cannot read a line that is ${what}`, async () => {
      const events = eventsOf(new FakeClock(), line('ADDED', { metadata: { name: 'a' } }), text);
      assert.equal((await events.next()).done, false);
      await assert.rejects(events.next(), UnreadableEventError);
    });
  }
});
