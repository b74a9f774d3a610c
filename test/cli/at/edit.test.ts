import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { kubectlAt } from '../../../src/cli/at/program.ts';
import { runProgram } from '../../../src/cli/program/run.ts';
import type { Fault } from '../../../src/testing/api-server/faults.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { fakeHost } from '../fake-host.ts';

const conflict: Fault = { kind: 'status', code: 409, reason: 'Conflict' };

/** A server with an At, whose next edits meet so many conflicts. */
async function serverWithConflicts(t: TestContext, times: number) {
  const server = await FakeApiServer.start({
    resources: [{ ...ats, status: true, generation: true, conditionalUpdate: true }],
  });
  const folder = mkdtempSync(join(tmpdir(), 'kubectl-at-'));
  t.after(async () => {
    rmSync(folder, { recursive: true });
    await server.stop();
  });
  server.put(ats, {
    metadata: { namespace: 'default', name: 'x' },
    spec: { schedule: '2099-01-01T09:00:00Z', argv: ['true'] },
  });
  server.fail({ method: 'PATCH', resource: 'ats', times }, conflict);
  const KUBECONFIG = join(folder, 'config');
  writeFileSync(KUBECONFIG, server.kubeConfig().exportConfig());
  return {
    server,
    spec: () => (server.store.get(ats, 'default', 'x') as At).spec,
    methods: () => server.requests.map(({ method }) => method),
    async run(...args: string[]) {
      const host = fakeHost(args, { KUBECONFIG });
      const code = await runProgram(kubectlAt, host);
      return { code, ...host.printed };
    },
  };
}

describe('an edit of an At that the operator writes at the same time', () => {
  for (const [words, changed] of [
    [['cancel', 'x'], { cancel: true }],
    [['suspend', 'x'], { suspend: true }],
    [['move', 'x', '2099-02-01T10:00:00Z'], { schedule: '2099-02-01T10:00:00Z' }],
  ] as const) {
    it(`reads it again, and edits what it is then: ${words[0]}`, async (t) => {
      const { run, spec, methods } = await serverWithConflicts(t, 2);
      const { code, errors } = await run(...words);
      assert.deepEqual([code, errors], [0, '']);
      assert.deepEqual({ ...spec(), ...changed }, spec());
      assert.deepEqual(methods(), ['GET', 'PATCH', 'GET', 'PATCH', 'GET', 'PATCH']);
    });
  }

  it('fails when the writes do not end', async (t) => {
    const { run, spec, methods } = await serverWithConflicts(t, 100);
    const { code, errors } = await run('cancel', 'x');
    assert.equal(code, 1);
    assert.equal(errors, 'error from the API server: scripted 409\n');
    assert.equal(spec().cancel, undefined);
    assert.equal(methods().length, 10);
  });
});
