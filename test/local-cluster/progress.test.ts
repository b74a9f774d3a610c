import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elapsed, startProgress } from '../../local-cluster/progress.ts';

function recordingOutput(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, write: (text: string) => written.push(text), written };
}

test('times read as a person says them', () => {
  assert.equal(elapsed(8400), '8 s');
  assert.equal(elapsed(125_000), '2 min 5 s');
});

test('a log gets whole lines, now and then', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const output = recordingOutput(false);
  const progress = startProgress('building', output);
  progress.update('7 of about 900 packages');
  t.mock.timers.tick(14_999);
  assert.deepEqual(output.written, ['building · 0 s\n']);
  t.mock.timers.tick(1);
  assert.equal(output.written[1], 'building · 0 s · 7 of about 900 packages\n');
  progress.end('built');
  t.mock.timers.tick(60_000);
  assert.equal(output.written.length, 3);
  assert.equal(output.written[2], 'built in 0 s\n');
});

test('a terminal gets one line that is drawn over and removed', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const output = recordingOutput(true);
  const progress = startProgress('building', output);
  progress.update('a long text');
  t.mock.timers.tick(500);
  progress.update('');
  t.mock.timers.tick(500);
  progress.end();
  const [, long = '', short = '', last = ''] = output.written;
  assert.ok(output.written.every((text) => text.startsWith('\r') && !text.includes('\n')));
  assert.equal(short.length, long.length, 'the rest of the longer line is covered');
  assert.equal(last.trim(), '');
});
