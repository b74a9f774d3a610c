/** What a ConfigWatcher's operator says of a source that it cannot read: none of its values. On a real API server. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { describe, it } from 'node:test';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { HostileProxy, type OwnAnswer, type Treatment } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const plain = 'canary-c3d1';
const secret = Buffer.from('canary-7a0e').toString('base64');
const canaries = [plain, 'canary-7a0e', secret];

const names = { ConfigMap: 'webapp-config', Secret: 'webapp-secret' } as const;
type Kind = keyof typeof names;
const values: Readonly<Record<Kind, string>> = { ConfigMap: plain, Secret: secret };

/** The source as an API server shows it. */
function objectOf(kind: Kind): object {
  const metadata = { name: names[kind], resourceVersion: '1', uid: 'of-a-proxy' };
  return { kind, apiVersion: 'v1', metadata, data: { message: values[kind] } };
}

function json(code: number, body: string): OwnAnswer {
  return { code, body, headers: { 'content-type': 'application/json' } };
}

function statusOf(code: number, reason: string, message: string): OwnAnswer {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message };
  return json(code, JSON.stringify(status));
}

/** All but the end of the answer, which breaks then. */
function cut(): Transform {
  const transform = (chunk: Buffer, _encoding: string, done: (error?: Error) => void) => {
    through.push(chunk.subarray(0, -20));
    setImmediate(() => done(new Error('the connection breaks')));
  };
  const through = new Transform({ transform });
  return through;
}

const troubles: Readonly<Record<string, (kind: Kind) => Treatment>> = {
  'by an answer that breaks in the middle': () => ({ through: cut() }),
  'by half of it': (kind) => json(200, JSON.stringify(objectOf(kind)).slice(0, -2)),
  'by the object of another kind': (kind) => json(200, JSON.stringify({ ...objectOf(kind), kind: 'Cat' })),
  'by a 500 that quotes its text, as a decoder does,': (kind) => {
    const text = JSON.stringify(objectOf(kind));
    const message = `unable to decode: invalid character, error found in #10 byte of ...|${text}|...`;
    return statusOf(500, 'InternalError', message);
  },
  'by a 500 that quotes it in words of its own': (kind) =>
    statusOf(500, 'InternalError', `cannot encode ${JSON.stringify(objectOf(kind))}`),
  'by a page that holds a part of it': (kind) => {
    const body = `bad answer: ${JSON.stringify(objectOf(kind))}`;
    return { code: 502, body, headers: { 'content-type': 'text/plain' } };
  },
  'by a 422 that quotes all of it': (kind) => {
    const text = JSON.stringify(objectOf(kind));
    return statusOf(422, 'Invalid', `${kind} "webapp" is invalid: data: Invalid value: ${text}: is wrong`);
  },
};

describe('a ConfigWatcher whose sources are answered', { concurrency: 3 }, () => {
  for (const [what, trouble] of Object.entries(troubles)) {
    it(`${what} has no value of them in log, status, Events and metrics`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      const proxy = await HostileProxy.start(t);
      const directory = await mkdtemp(join(tmpdir(), 'atwatch-secrecy-'));
      t.after(() => rm(directory, { recursive: true, force: true }));
      const KUBECONFIG = join(directory, 'kubeconfig');
      await writeFile(KUBECONFIG, proxy.kubeConfig.exportConfig());
      await shop.createConfigMap({ message: 'first' });
      const metadata = { namespace, name: names.Secret };
      await client.create(secrets, { metadata, data: { message: btoa('first') } });
      await shop.deploy(1);
      const operator = new OperatorProcess(t, namespace, ['--secret-access'], { env: { KUBECONFIG } });
      await shop.watch({
        ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
        sources: [{ kind: 'Secret', name: names.Secret }],
      });
      await shop.baselined();
      const answered = { ConfigMap: 0, Secret: 0 };
      proxy.treat = ({ method, path }) => {
        const kind = path.endsWith(`/configmaps/${names.ConfigMap}`)
          ? 'ConfigMap'
          : path.endsWith(`/secrets/${names.Secret}`) && 'Secret';
        if (method !== 'GET' || !kind) return undefined;
        answered[kind]++;
        return trouble(kind);
      };
      await client.patch(secrets, metadata, { type: 'merge', body: { data: { message: secret } } });
      await shop.patchConfigMap({ data: { message: plain } });
      const isTriedAgain = () => Math.min(answered.ConfigMap, answered.Secret) >= 8;
      await eventually(isTriedAgain, { timeout: 60_000, message: 'both are read again' });
      const during = [await shop.watcher(), operator.output, await operator.metrics()];
      assert.match(operator.output, /"level":"(?:warn|error)"/, 'it says that something is wrong');
      proxy.treat = () => undefined;
      await shop.restarted(1);
      await shop.untilEvent('RestartCompleted');
      const { items } = await client.list(events, { namespace });
      const after = [await shop.watcher(), operator.output, await operator.metrics(), items];
      const said = JSON.stringify([during, after]);
      for (const canary of canaries) {
        const at = said.indexOf(canary);
        assert.equal(at, -1, `it says ${said.slice(Math.max(0, at - 300), at + 100)}`);
      }
    });
  }
});
