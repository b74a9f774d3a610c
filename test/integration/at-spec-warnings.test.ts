/** Warnings about what a spec says, on the real API server: each is given once, and changes nothing about the run. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { events } from '../../src/runtime/events/event.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const far = '2100-01-01T00:00:00Z';

async function told(rig: AtRig, name: string, event: string): Promise<void> {
  await eventually(async () => (await rig.events(name)).includes(event), {
    message: `the Event ${event} of ${name}`,
  });
}

describe('the deprecated AtMostOnce', () => {
  /** How often it was told about the At: one Event may stand for a series. */
  async function warnings({ client, namespace }: AtRig, name: string): Promise<number> {
    const { items } = await client.list(events, { namespace });
    return items
      .filter(({ regarding, reason }) => regarding.name === name && reason === 'DeprecatedValue')
      .reduce((sum, { series }) => sum + (series?.count ?? 1), 0);
  }

  it('is told once of an At that waits and of one that runs, also over a restart of the operator', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const launchGuarantee = 'AtMostOnce';
    await rig.createAt({ launchGuarantee, schedule: far }, 'far');
    await rig.createAt({ launchGuarantee });
    for (const name of ['far', 'example-at']) await told(rig, name, 'DeprecatedValue (W)');
    await told(rig, 'example-at', 'Launched');
    await rig.stopOperators();
    await rig.startOperator();
    // What the second operator finds at its start, it has told of before this one, which comes later.
    await rig.createAt({ launchGuarantee }, 'later');
    await told(rig, 'later', 'Launched');
    await rig.exit(0);
    await told(rig, 'example-at', 'Completed');
    assert.deepEqual(await rig.events(), ['DeprecatedValue (W)', 'Launched', 'Completed']);
    assert.deepEqual(await rig.events('far'), ['DeprecatedValue (W)']);
    for (const name of ['far', 'example-at', 'later']) assert.equal(await warnings(rig, name), 1, name);
    assert.match((await rig.notes('far')).join(), /AtMostOnce is deprecated: it means ExactlyOnce/);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });
});

describe('a shell operator in a command', () => {
  const explained = /^command holds a shell operator such as \| or &&, .* means nothing without spec\.shell$/;

  it('is explained by a Warning, and the words reach the container as they are written', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const commands = {
      and: { command: 'echo a && echo b', words: ['echo', 'a', '&&', 'echo', 'b'] },
      redirect: { command: 'echo a > b', words: ['echo', 'a', '>', 'b'] },
      semicolon: { command: 'echo a; echo b', words: ['echo', 'a;', 'echo', 'b'] },
    };
    for (const [name, { command }] of Object.entries(commands)) await rig.createAt({ command }, name);
    for (const [name, { words }] of Object.entries(commands)) {
      await told(rig, name, 'Launched');
      assert.deepEqual(await rig.events(name), ['ShellOperator (W)', 'Launched'], name);
      assert.match((await rig.notes(name))[0] ?? '', explained, name);
      assert.deepEqual((await rig.pod(`${name}-pod`)).spec.containers[0]?.command, words, name);
    }
  });

  it('is none where it is quoted, or where a shell reads it', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ command: `echo 'a && b' "c > d" e\\;f` }, 'quoted');
    await rig.createAt({ command: 'echo a && echo b > c; echo d', shell: '/bin/sh' }, 'shell');
    for (const name of ['quoted', 'shell']) {
      await told(rig, name, 'Launched');
      assert.deepEqual(await rig.events(name), ['Launched'], name);
    }
  });
});
