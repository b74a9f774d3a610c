/** At, and which answers tell the API server's time: Kubernetes' own, the earliest counts, and few are asked for. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { parseTime } from '../../src/kubernetes/time.ts';
import { recordingLogger } from '../runtime/controller/fixtures.ts';
import { AtRig, clockAhead } from './at-rig.ts';
import { HostileProxy, page404 } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

async function behindProxy(t: TestContext): Promise<{ rig: AtRig; proxy: HostileProxy }> {
  const rig = await AtRig.create(t);
  return { rig, proxy: await HostileProxy.start(t) };
}

/** An At that is due in 8 s is not launched before, by the API server's own clock. */
async function assertNotEarly(rig: AtRig): Promise<void> {
  const due = Math.ceil(Date.now() / 1000) * 1000 + 8000;
  await rig.createAt({ schedule: new Date(due).toISOString() });
  const { status } = await rig.inPhase('RUNNING', 'example-at', 60_000);
  const createdAt = parseTime((await rig.pod()).metadata.creationTimestamp ?? '');
  assert.ok(createdAt >= due, `its Pod was created ${due - createdAt} ms early`);
  assert.ok(parseTime(status?.launchTime ?? '') >= due, status?.launchTime);
}

describe('answers whose Date is ahead', { concurrency: true }, () => {
  it('launch nothing early where they have no Audit-Id', async (t) => {
    const { rig, proxy } = await behindProxy(t);
    proxy.hidesAuditId = true;
    proxy.aheadMs = 20 * 60_000;
    await rig.startOperator({ kubeConfig: proxy.kubeConfig });
    await assertNotEarly(rig);
  });

  it('launch nothing early where those of other servers are right, though its own clock is as wrong', async (t) => {
    const { rig, proxy } = await behindProxy(t);
    const aheadMs = 20_000;
    let answers = 0;
    proxy.aheadFor = () => (answers++ % 2 === 0 ? aheadMs : 0);
    await rig.startOperator({ kubeConfig: proxy.kubeConfig, clock: clockAhead(aheadMs) });
    await assertNotEarly(rig);
    assert.ok(answers > 2, `${answers} answers`);
  });
});

describe('an operator whose clock is wrong by 5 s', () => {
  it('warns once, and asks for the time once a second at most', { timeout: 180_000 }, async (t) => {
    const { rig, proxy } = await behindProxy(t);
    const askedAt: number[] = [];
    const log = recordingLogger();
    const began = performance.now();
    await rig.startOperator({ kubeConfig: proxy.kubeConfig, clock: clockAhead(5000), log });
    // As none is told, it goes on asking.
    proxy.treat = ({ path }) => {
      if (path !== '/version') return undefined;
      askedAt.push(performance.now());
      return page404;
    };
    for (const name of ['one', 'two', 'three']) {
      await rig.createAt({}, name);
      await rig.inPhase('RUNNING', name);
    }
    const warned = log.lines.filter(({ level, fields }) => level === 'warn' && 'skewSeconds' in fields);
    const minutes = Math.floor((performance.now() - began) / 60_000);
    assert.ok(warned.length >= 1 && warned.length <= 1 + minutes, `${warned.length} warnings`);
    const skew = Number(warned[0]?.fields.skewSeconds);
    assert.ok(skew > 2 && skew <= 5.1, `${skew} s`);
    let created = 0;
    // One At after another, so that there is always one whose time is near.
    const isAskedOften = async () => {
      const schedule = new Date(Date.now() + 30_000).toISOString();
      if (askedAt.length < 5) await rig.createAt({ schedule }, `near-${created++}`);
      return askedAt.length >= 5;
    };
    await eventually(isAskedOften, { timeout: 90_000, interval: 2000, message: 'the time is asked for' });
    // Each is sent a second after the answer to the one before, however slow the machine is.
    const gaps = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
    assert.ok(
      gaps.every((gap) => gap >= 990),
      `milliseconds between requests for the time: ${gaps.map(Math.round).join(', ')}`,
    );
  });
});
