import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findPresence, type Presence } from '../../../src/runtime/cache/presence.ts';
import { apiError, ScriptedClient } from './scripted-client.ts';
import { widgets } from './widget.ts';

/** The answers to GETs of these paths, one after the other; the last one stays. */
function clientOf(answers: Readonly<Record<string, readonly unknown[]>>) {
  const client = new ScriptedClient();
  const asked: string[] = [];
  const left = new Map(Object.entries(answers).map(([path, list]) => [path, [...list]]));
  client.getRaw = async (path) => {
    asked.push(path);
    const list = left.get(path) ?? [];
    const answer = list.length > 1 ? list.shift() : list[0];
    if (answer === undefined || answer instanceof Error) throw answer ?? apiError(404);
    return answer;
  };
  return { client, asked };
}

function groups(...served: (readonly [name: string, version: string])[]) {
  const list = served.map(([name, version]) => ({ name, versions: [{ version }] }));
  return { kind: 'APIGroupList', groups: list };
}

const resources = (...names: string[]) => ({
  kind: 'APIResourceList',
  resources: names.map((name) => ({ name })),
});
const path = '/apis/example.com/v1';
const notReady = apiError(500);

interface Row {
  readonly name: string;
  readonly answers: Readonly<Record<string, readonly unknown[]>>;
  readonly presence: Presence;
}

const rows: readonly Row[] = [
  {
    name: 'its group is in no list of a ready server',
    answers: { '/readyz': ['ok'], '/apis': [groups(['other.com', 'v1'])] },
    presence: 'absent',
  },
  {
    name: 'the group has other resources',
    answers: { '/readyz': ['ok'], '/apis': [groups(['example.com', 'v1'])], [path]: [resources('gadgets')] },
    presence: 'absent',
  },
  {
    name: 'the group has other versions',
    answers: { '/readyz': ['ok'], '/apis': [groups(['example.com', 'v2'])] },
    presence: 'otherVersion',
  },
  {
    name: 'the resource is listed',
    answers: { '/readyz': ['ok'], '/apis': [groups(['example.com', 'v1'])], [path]: [resources('widgets')] },
    presence: 'served',
  },
  {
    name: 'the server is not ready',
    answers: { '/readyz': [notReady], '/apis': [groups(['other.com', 'v1'])] },
    presence: 'unknown',
  },
  {
    name: 'the server says something else than ok',
    answers: { '/readyz': ['<h1>welcome</h1>'], '/apis': [groups(['other.com', 'v1'])] },
    presence: 'unknown',
  },
  {
    name: 'the server is not ready any more after it left the group out',
    answers: { '/readyz': ['ok', notReady], '/apis': [groups(['other.com', 'v1'])] },
    presence: 'unknown',
  },
  {
    name: 'the server is not ready any more after it left the resource out',
    answers: {
      '/readyz': ['ok', notReady],
      '/apis': [groups(['example.com', 'v1'])],
      [path]: [resources('gadgets')],
    },
    presence: 'unknown',
  },
  {
    name: 'the server is not ready any more after it listed other versions',
    answers: { '/readyz': ['ok', notReady], '/apis': [groups(['example.com', 'v2'])] },
    presence: 'unknown',
  },
  { name: 'something else answers', answers: { '/readyz': ['ok'], '/apis': [{}] }, presence: 'unknown' },
];

describe('findPresence', () => {
  for (const { name, answers, presence } of rows) {
    it(`is ${presence} when ${name}`, async () => {
      const { client } = clientOf(answers);
      assert.equal(await findPresence(client, widgets, new AbortController().signal), presence);
    });
  }

  it('rejects with the reason of its signal', async () => {
    const { client } = clientOf({});
    await assert.rejects(findPresence(client, widgets, AbortSignal.abort(new Error('stop'))), /stop/);
  });
});
