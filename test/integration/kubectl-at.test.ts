/**
 * `kubectl at`, through kubectl itself, on the real API server. There is no node: what a kubelet would report, the
 * test writes.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { ats } from '../../src/api/resources.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { type Finished, type PluginOptions, runKubectl } from '../fixtures/kubectl-plugin.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

interface Bench {
  readonly rig: AtRig;
  run(args: readonly string[], options?: PluginOptions): Promise<Finished>;
  /** Its standard output; fails when it fails. */
  ok(...args: string[]): Promise<string>;
  /** Its complaint; fails when it does not fail with this code. */
  fails(code: number, ...args: string[]): Promise<string>;
}

async function bench(t: TestContext, { operator = true } = {}): Promise<Bench> {
  const rig = await AtRig.create(t);
  if (operator) await rig.startOperator();
  const run = (args: readonly string[], options?: PluginOptions) => {
    const end = args.indexOf('--');
    const [own, rest] = end === -1 ? [args, []] : [args.slice(0, end), args.slice(end)];
    return runKubectl(['at', ...own, '--namespace', rig.namespace, ...rest], options);
  };
  return {
    rig,
    run,
    async ok(...args) {
      const { code, output, errors } = await run(args);
      assert.equal(code, 0, `${args.join(' ')}: ${errors}`);
      return output;
    },
    async fails(code, ...args) {
      const finished = await run(args);
      assert.equal(finished.code, code, `${args.join(' ')}: ${finished.output}${finished.errors}`);
      return finished.errors;
    },
  };
}

describe('kubectl at WHEN', { concurrency: true }, () => {
  it('creates an At, and says when it runs in every zone that matters', async (t) => {
    const { rig, ok } = await bench(t);
    const output = await ok(
      '2099-07-01',
      '9:00',
      '--tz',
      'America/New_York',
      '--name',
      'x',
      '--',
      'echo',
      'a  b',
      '$HOME',
    );
    assert.match(output, /^at\/x runs in 26\d{3}d\.\n/);
    assert.deepEqual(output.trimEnd().split('\n').slice(1), [
      '  America/New_York       Wed 1 Jul 2099 09:00:00 -04:00',
      '  Europe/Berlin (here)   Wed 1 Jul 2099 15:00:00 +02:00',
      '  UTC                    Wed 1 Jul 2099 13:00:00 +00:00',
    ]);
    const { schedule, timeZone, argv } = (await rig.at('x')).spec;
    assert.deepEqual(
      [schedule, timeZone, argv],
      ['2099-07-01T09:00:00', 'America/New_York', ['echo', 'a  b', '$HOME']],
    );
  });

  it('runs now what is to run now, under a name made of the program', async (t) => {
    const { rig, ok } = await bench(t);
    const [, name = ''] =
      /^at\/(echo-[a-z0-9]{5}) runs now\.\n/.exec(await ok('now', '--', '/bin/echo', 'hi')) ?? [];
    await rig.inPhase('RUNNING', name);
    assert.deepEqual((await rig.pod(`${name}-pod`)).spec.containers[0]?.command, ['/bin/echo', 'hi']);
  });

  it('prints the object for a program, and creates nothing in a dry run', async (t) => {
    const { rig, run, ok } = await bench(t);
    const manifest = parse(await ok('now+1h', '--dry-run', '-o', 'yaml', '--image', 'alpine', '--', 'true'));
    assert.match(manifest.metadata.name, /^true-[a-z0-9]{5}$/);
    assert.deepEqual(
      [manifest.spec.argv, manifest.spec.image, manifest.status],
      [['true'], 'alpine', undefined],
    );
    assert.deepEqual((await rig.client.list(ats, { namespace: rig.namespace })).items, []);
    const { output } = await run(['now+1h', '-o', 'name', '--name', 'named', '--', 'true']);
    assert.equal(output, 'at.cnat.programming-kubernetes.info/named\n');
  });

  it('refuses what has passed, and creates nothing when At or Pod would be refused', async (t) => {
    const { rig, fails, ok, run } = await bench(t);
    const past = await fails(2, '2020-01-01T00:00:00Z', '--', 'true');
    assert.match(
      past,
      /^error: Wed 1 Jan 2020 01:00:00 \(Europe\/Berlin\) has passed, \d+d ago: say now to run it at once\n$/,
    );
    assert.match(
      await fails(1, 'now', '--name', 'Not_a_name', '--', 'true'),
      /a lowercase RFC 1123 subdomain/,
    );
    const noPods = { metadata: { namespace: rig.namespace, name: 'none' }, spec: { hard: { pods: '0' } } };
    await rig.client.create(resourceQuotas, noPods);
    const refused = await eventually(async () => {
      const { code, errors } = await run(['now+1h', '--name', 'quota', '--', 'true']);
      // Until the quota is counted, its status is said to be unknown.
      if (code === 1 && errors.includes('exceeded quota')) return errors;
      if (code === 0) await rig.client.delete(ats, { namespace: rig.namespace, name: 'quota' });
      return false;
    });
    assert.match(
      refused,
      /^error: nothing was created, because its Pod would be refused: .*exceeded quota: none/,
    );
    await assert.rejects(rig.at('quota'), isNotFound);
    await ok('now+1h', '--unchecked', '--name', 'quota', '--', 'true');
    await rig.at('quota');
  });

  it('refuses a name that is taken, by an At or by a Pod', async (t) => {
    const { ok, fails, rig } = await bench(t, { operator: false });
    await ok('now+1h', '--name', 'x', '--', 'true');
    assert.match(
      await fails(1, 'now', '--name', 'x', '--', 'true'),
      /there is an At "x" already: take another --name/,
    );
    await runKubectl(['run', 'y-pod', '--image=busybox', `--namespace=${rig.namespace}`]);
    assert.match(await fails(1, 'now', '--name', 'y', '--', 'true'), /a Pod named y-pod is there already/);
  });

  it('says that no operator is there', async (t) => {
    const { run } = await bench(t, { operator: false });
    const { code, errors } = await run(['now', '--', 'true']);
    assert.deepEqual(
      [code, errors],
      [0, 'No operator has taken notice of it yet. Is one running? kubectl at doctor looks for it.\n'],
    );
  });

  it('takes image, environment, volumes and ServiceAccount of a workload', async (t) => {
    const { rig, ok, fails } = await bench(t);
    const containers = [
      {
        name: 'web',
        image: 'example/web:7',
        args: ['serve'],
        env: [{ name: 'MODE', value: 'live' }],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ];
    const spec = { serviceAccountName: 'default', volumes: [{ name: 'data', emptyDir: {} }], containers };
    const template = { metadata: { labels: { app: 'web' } }, spec };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: rig.namespace, name: 'web' },
      spec: { selector: { matchLabels: { app: 'web' } }, template },
    };
    const resource = {
      group: 'apps',
      version: 'v1',
      plural: 'deployments',
      kind: 'Deployment',
      namespaced: true,
    };
    await rig.client.create(resource, deployment);
    await ok('now', '--name', 'x', '--from', 'deploy/web', '--', 'rake', 'db:migrate');
    await rig.inPhase('RUNNING', 'x');
    const { metadata, spec: made } = await rig.pod('x-pod');
    const [main] = made.containers;
    assert.deepEqual(
      [main?.image, main?.command, main?.args],
      ['example/web:7', ['rake', 'db:migrate'], undefined],
    );
    assert.deepEqual(main?.env, [{ name: 'MODE', value: 'live' }]);
    assert.ok(made.volumes?.some(({ name }) => name === 'data'));
    assert.equal(made.automountServiceAccountToken, true);
    assert.equal(metadata.labels?.app, 'x');
    assert.match(
      await fails(1, 'now', '--from', 'deploy/gone', '--', 'true'),
      /there is no deploy "gone" in the namespace/,
    );
    assert.match(
      await fails(2, 'now', '--from', 'web', '--', 'true'),
      /--from is KIND\/NAME such as deploy\/web, not "web"/,
    );
    assert.match(await fails(2, 'now', '--from', 'svc/web', '--', 'true'), /--from takes deploy, sts, /);
  });
});

describe('kubectl at list and show', { concurrency: true }, () => {
  it('list has a line for each At, as people say it', async (t) => {
    const { rig, ok, run } = await bench(t);
    assert.match((await run(['list'])).errors, /^There is no At in the namespace test-/);
    await ok('now+1h', '--name', 'later', '--', 'true');
    await rig.createAt({ backoffLimit: 0 }, 'failed');
    await rig.inPhase('RUNNING', 'failed');
    await rig.exit(3, 'failed-pod', 'no\nspace left');
    await rig.inPhase('DONE', 'failed');
    const [header = '', first = '', second = ''] = (await ok('list')).split('\n');
    assert.match(header, /^NAME +STATUS +WHEN +TOOK +OUTPUT$/);
    assert.match(first, /^failed +Failed +(\d+s ago|now) +\d+s +\(Failed \(exit code 3\): space left\)$/);
    assert.match(second, /^later +Waiting +in (59m|1h)$/);
    assert.match(await ok('list', '--last', '10'), /^NAME.*\nfailed .*\n$/);
    assert.match(await ok('list', '--failed', '-A'), new RegExp(`${rig.namespace} +failed +Failed`));
    assert.equal(JSON.parse(await ok('list', '-o', 'json')).items.length, 2);
    const names = (await ok('list', '-o', 'name')).trimEnd().split('\n');
    assert.deepEqual(
      names.map((name) => name.split('/')[1]),
      ['failed', 'later'],
    );
  });

  it('show tells the whole story of one', async (t) => {
    const { rig, ok, fails } = await bench(t);
    await rig.createAt({ backoffLimit: 0, argv: ['sh', '-c', 'exit 3'] }, 'failed');
    await rig.inPhase('RUNNING', 'failed');
    await rig.exit(3, 'failed-pod');
    await rig.inPhase('DONE', 'failed');
    const story = await eventually(async () => {
      const output = await ok('show', 'failed');
      return output.includes('Event  Failed') && output;
    });
    assert.match(story, /^at\/failed: Failed \(exit code 3\), /);
    assert.match(story, /^ {2}command +sh -c 'exit 3'$/m);
    const parts = [
      /At +created with atwatch-test/,
      /Pod +failed-pod created/,
      /Event +Launched: /,
      /ended with exit code 3/,
      /At +Failed/,
    ];
    for (const part of parts) assert.match(story, part);
    assert.match(
      await fails(1, 'show', 'gone'),
      /^error: there is no At "gone" in the namespace test-\w+; kubectl at list -A shows/,
    );
  });
});

describe('kubectl at wait and logs', { concurrency: true }, () => {
  it('wait ends as the command did', async (t) => {
    const { rig, run } = await bench(t);
    await rig.createAt({ backoffLimit: 0 }, 'failing');
    const waiting = run(['wait', 'failing']);
    await rig.inPhase('RUNNING', 'failing');
    await rig.exit(42, 'failing-pod');
    const { code, output, errors } = await waiting;
    assert.deepEqual([code, output, errors], [42, '', 'failing: Failed (exit code 42)\n']);
  });

  it('wait ends with 124 when the time is over, with 125 when nothing ran, and when it is deleted', async (t) => {
    const { rig, ok, fails, run } = await bench(t);
    await ok('2099-01-01 9:00', '--name', 'x', '--', 'true');
    assert.match(
      await fails(124, 'wait', 'x', '--timeout', '5s'),
      /^x is not done after 5s: it is due 1 Jan 2099 09:00\.\n$/,
    );
    await ok('cancel', 'x');
    assert.equal(await fails(125, 'wait', 'x'), 'x: Canceled\n');
    await rig.createAt({ startingDeadlineSeconds: 1 }, 'missed');
    assert.match(await fails(125, 'wait', 'missed'), /^missed: Missed \(MissedDeadline\): /);
    await ok('2099-01-01 9:00', '--name', 'y', '--', 'true');
    const waiting = run(['wait', 'y', '--timeout', '60s']);
    await eventually(async () => (await rig.at('y')).status?.observedGeneration === 1);
    await rig.client.delete(ats, { namespace: rig.namespace, name: 'y' });
    const { code } = await waiting;
    // It may have been too late to see it at all.
    assert.ok(code === 125 || code === 1, `exit code ${code}`);
  });

  it('logs says of one that has not run when it is due', async (t) => {
    const { ok, fails } = await bench(t);
    await ok('2099-01-01 9:00', '--name', 'x', '--', 'true');
    assert.equal(
      await fails(1, 'logs', 'x'),
      'error: x has not run: it is due 1 Jan 2099 09:00; logs -f waits for it\n',
    );
    await ok('cancel', 'x');
    await fails(125, 'wait', 'x');
    assert.equal(await fails(1, 'logs', 'x'), 'error: x has never run: Canceled\n');
  });
});

describe('kubectl at cancel, suspend, resume, move, rerun and clean', { concurrency: true }, () => {
  it('each say what happened', async (t) => {
    const { ok, fails, rig } = await bench(t);
    await ok('2099-01-01 9:00', '--name', 'x', '--', 'true');
    assert.equal(await ok('resume', 'x'), 'x is not suspended: it is due 1 Jan 2099 09:00.\n');
    assert.equal(
      await ok('suspend', 'x'),
      'at/x suspended: it was due 1 Jan 2099 09:00; kubectl at resume lets it go on.\n',
    );
    assert.equal(await ok('suspend', 'x'), 'x is suspended already.\n');
    assert.equal(await ok('resume', 'x'), 'at/x resumed: it is due 1 Jan 2099 09:00.\n');
    const [moved, ...lines] = (await ok('move', 'x', '2099-02-01', '10:00', '--tz', 'UTC')).split('\n');
    assert.equal(moved, 'at/x moved: it runs 1 Feb 2099 11:00 (before: Thu 1 Jan 2099 08:00:00).');
    assert.equal(lines[0], '  UTC                    Sun 1 Feb 2099 10:00:00 +00:00');
    const { schedule, timeZone } = (await rig.at('x')).spec;
    assert.deepEqual([schedule, timeZone], ['2099-02-01T10:00:00Z', undefined]);
    assert.match(await fails(1, 'rerun', 'x'), /x has not run yet: kubectl at move x now runs it at once/);
    assert.equal(await ok('cancel', 'x'), 'at/x canceled: it was due 1 Feb 2099 11:00.\n');
    await fails(125, 'wait', 'x');
    assert.equal(await ok('cancel', 'x'), 'x is canceled already.\n');
    assert.match(
      await fails(1, 'move', 'x', 'now'),
      /too late to move x: x is over, Canceled.*; kubectl at rerun runs it again/,
    );
  });

  it('print the object as it is then, for a program', async (t) => {
    const { ok, fails } = await bench(t);
    for (const name of ['x', 'y']) await ok('2099-01-01 9:00', '--name', name, '--', 'true');
    const reference = 'at.cnat.programming-kubernetes.info/';
    assert.equal(await ok('suspend', 'x', 'y', '-o', 'name'), `${reference}x\n${reference}y\n`);
    const { kind, items } = JSON.parse(await ok('resume', 'x', 'y', '-o', 'json'));
    assert.deepEqual(
      [kind, items.map(({ spec }: { spec: { suspend: boolean } }) => spec.suspend)],
      ['List', [false, false]],
    );
    const moved = parse(await ok('move', 'x', '2099-02-01', '10:00', '--tz', 'UTC', '-o', 'yaml'));
    assert.deepEqual([moved.kind, moved.spec.schedule], ['At', '2099-02-01T10:00:00Z']);
    assert.equal(JSON.parse(await ok('cancel', 'x', '-o', 'json')).spec.cancel, true);
    assert.match(await fails(2, 'cancel', 'y', '-o', 'wide'), /--output is one of json, yaml, name/);
  });

  it('wait, clean and doctor tell a program', async (t) => {
    const { ok, fails, run } = await bench(t);
    await ok('2099-01-01 9:00', '--name', 'x', '--', 'true');
    await ok('cancel', 'x');
    const { code, output, errors } = await run(['wait', 'x', '-o', 'json']);
    assert.deepEqual([code, errors], [125, 'x: Canceled\n']);
    const { kind, status } = JSON.parse(output);
    assert.deepEqual([kind, status.outcome], ['At', 'Canceled']);
    const reference = 'at.cnat.programming-kubernetes.info/x\n';
    assert.equal(await ok('clean', '--older-than', '0s', '--dry-run', '-o', 'name'), reference);
    const { items } = JSON.parse(await ok('clean', '--older-than', '0s', '-o', 'json'));
    assert.deepEqual(
      items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      ['x'],
    );
    assert.equal(await ok('clean', '--older-than', '0s', '-o', 'name'), '');
    const report = await run(['doctor', '-o', 'yaml']);
    assert.deepEqual(parse(report.output).findings[0].verdict, 'ok');
    assert.match(await fails(2, 'doctor', '-o', 'name'), /--output is one of json, yaml, not "name"/);
  });

  it('move to now runs it, with its zone kept for times of day', async (t) => {
    const { ok, rig, fails } = await bench(t);
    await ok('2099-01-01 9:00', '--tz', 'Asia/Tokyo', '--name', 'x', '--', 'true');
    await ok('move', 'x', '2099-01-02 9:00');
    assert.equal((await rig.at('x')).spec.timeZone, 'Asia/Tokyo');
    assert.match(
      await ok('move', 'x', 'now'),
      /^at\/x moved: it runs now \(before: Fri 2 Jan 2099 09:00:00\)\./,
    );
    await rig.inPhase('RUNNING', 'x');
    assert.match(
      await fails(1, 'suspend', 'x'),
      /too late to suspend x: it runs; kubectl at cancel stops it/,
    );
    assert.equal(await ok('cancel', 'x'), 'at/x is being stopped.\n');
  });

  it('rerun makes a new At with the same command', async (t) => {
    const { ok, rig } = await bench(t);
    await rig.createAt({ argv: ['a', 'b'], backoffLimit: 1, image: 'alpine' }, 'x');
    await rig.inPhase('RUNNING', 'x');
    assert.match(await ok('rerun', 'x'), /^at\/x-2 runs now\.\n/);
    assert.match(await ok('rerun', 'x-2', 'tomorrow', '9:00', '--tz', 'UTC'), /^at\/x-3 runs in /);
    const { argv, backoffLimit, image, timeZone } = (await rig.at('x-3')).spec;
    assert.deepEqual([argv, backoffLimit, image, timeZone], [['a', 'b'], 1, 'alpine', undefined]);
  });

  it('clean deletes what has been over for so long, and nothing else', async (t) => {
    const { ok, rig } = await bench(t);
    await rig.createAt({}, 'done');
    await rig.inPhase('RUNNING', 'done');
    await rig.exit(0, 'done-pod');
    await rig.inPhase('DONE', 'done');
    await rig.createAt({}, 'runs');
    await rig.inPhase('RUNNING', 'runs');
    assert.equal(await ok('clean', '--older-than', '1d'), '0 Ats deleted, 2 kept.\n');
    assert.match(
      await ok('clean', '--older-than', '0s', '--dry-run'),
      /^would delete at\/done, Succeeded, .*\n1 At would be deleted, 1 kept\.\n$/,
    );
    await rig.at('done');
    assert.match(
      await ok('clean', '--older-than', '0s'),
      /^deleted at\/done, Succeeded, .*\n1 At deleted, 1 kept\.\n$/,
    );
    await assert.rejects(rig.at('done'), isNotFound);
    await rig.at('runs');
  });
});

describe('kubectl at doctor and completion', { concurrency: true }, () => {
  it('doctor finds nothing wrong where an operator is at work', async (t) => {
    const { ok, rig } = await bench(t);
    await rig.createAt({ schedule: '2099-01-01T00:00:00Z' }, 'x');
    await rig.atWhen('accepted', ({ status }) => status?.observedGeneration === 1, 'x');
    const report = await ok('doctor');
    assert.match(report, /^ok {4}API server v1\.\d+\.\d+ at https:/);
    assert.match(report, /^ok {4}At \(cnat\.programming-kubernetes\.info\/v1alpha1\) is installed$/m);
    assert.match(report, /^ok {4}an operator handles the Ats in test-/m);
    assert.match(report, /^ok {4}you have all rights that are needed in test-/m);
  });

  it('doctor finds that the operator is missing, and says what to do', async (t) => {
    const { rig, run } = await bench(t, { operator: false });
    await rig.createAt({}, 'x');
    const { output } = await eventually(async () => {
      const finished = await run(['doctor']);
      return finished.output.includes('no operator handles') && finished;
    });
    assert.match(
      output,
      /^FAIL {2}no operator handles the Ats in test-\w+: x\n {6}do: start an operator that serves this namespace$/m,
    );
  });

  it('doctor finds rights that are missing', async (t) => {
    const { run } = await bench(t, { operator: false });
    const { output, code } = await run(['doctor', '--as', 'a-stranger']);
    assert.equal(code, 1);
    assert.match(
      output,
      /^FAIL {2}you may not create ats in test-\w+: kubectl at WHEN and rerun do not work$/m,
    );
    assert.match(output, /^\? {5}you may not see the Pods and the Lease of the operator/m);
  });

  it('kubectl completes commands, flags, times, and names of what there is', async (t) => {
    const { rig } = await bench(t, { operator: false });
    await rig.createAt({ suspend: true }, 'held');
    const complete = async (...words: string[]) => {
      const { output } = await runKubectl(['__complete', 'at', ...words]);
      const lines = output.trimEnd().split('\n');
      assert.equal(lines.pop(), ':4');
      return lines.map((line) => line.split('\t')[0]);
    };
    assert.deepEqual(await complete('re'), ['resume', 'rerun']);
    assert.deepEqual(await complete('tom'), ['tomorrow']);
    assert.deepEqual(await complete('show', '-n', rig.namespace, ''), ['held']);
    assert.deepEqual(await complete('list', '--fa'), ['--failed']);
    assert.deepEqual(await complete('list', '-o', 'j'), ['json']);
    assert.deepEqual(await complete('9:00', '--tz', 'Europe/Berl'), ['Europe/Berlin']);
    assert.deepEqual(await complete('now', '--', ''), []);
  });
});
