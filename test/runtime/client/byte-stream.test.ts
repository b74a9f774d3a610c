import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ByteStream } from '../../../src/runtime/client/byte-stream.ts';

const chunk = Buffer.alloc(400_000);

function recorded() {
  const calls: string[] = [];
  const stream = new ByteStream({
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    left: () => calls.push('left'),
  });
  return { calls, stream, iterator: stream[Symbol.asyncIterator]() };
}

describe('ByteStream', () => {
  test('asks to pause once above 1 MiB unread, and to resume when that has been taken', async () => {
    const { calls, stream, iterator } = recorded();
    for (let i = 0; i < 5; i++) stream.push(chunk);
    assert.deepEqual(calls, ['pause']);
    await iterator.next();
    assert.deepEqual(calls, ['pause', 'resume']);
  });

  test('delivers what came before the end, and tells that the reader has left', async () => {
    const { calls, stream } = recorded();
    stream.push(Buffer.from('a'));
    stream.push(Buffer.from('b'));
    stream.end();
    const read: string[] = [];
    for await (const part of stream) read.push(part.toString());
    assert.deepEqual([read, calls], [['a', 'b'], ['left']]);
  });

  test('delivers what came before a failure', async () => {
    const { calls, stream, iterator } = recorded();
    stream.push(Buffer.from('a'));
    stream.fail(new Error('cut'));
    assert.equal(String((await iterator.next()).value), 'a');
    await assert.rejects(iterator.next(), /cut/);
    assert.deepEqual(calls, ['left']);
  });

  test('wakes a reader that waits', async () => {
    const { stream, iterator } = recorded();
    const first = iterator.next();
    stream.push(Buffer.from('a'));
    assert.equal(String((await first).value), 'a');
    const second = iterator.next();
    stream.end();
    assert.equal((await second).done, true);
  });

  test('a failure after the end is none', async () => {
    const { stream, iterator } = recorded();
    stream.end();
    stream.fail(new Error('cut'));
    assert.equal((await iterator.next()).done, true);
  });
});
