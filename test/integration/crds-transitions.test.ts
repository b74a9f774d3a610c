import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { kubectl, type Namespace, withNamespace } from '../e2e/kubectl.ts';
import { installCrds, refusal } from './admission.ts';

const book = {
  apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
  kind: 'At',
  metadata: { name: 'example-at' },
  spec: {
    schedule: '2019-04-12T10:12:00Z',
    command: 'echo YAY',
    template: { spec: { containers: [{ name: 'busybox', env: [{ name: 'A', value: '1' }] }] } },
  },
};

/** Another value for each field that is immutable after the launch. */
const edits = {
  schedule: '2030-01-31T09:00:00Z',
  command: 'echo NO',
  shell: '/bin/sh',
  image: 'alpine',
  startingDeadlineSeconds: 1,
  activeDeadlineSeconds: 1,
  pendingTimeoutSeconds: 1,
  backoffLimit: 1,
  disruptionPolicy: 'Retry',
};

before(installCrds);

/** An At and what can be done to it. */
interface Subject {
  readonly namespace: Namespace;
  /** Merge-patches the At, or its status. */
  patch(body: object, subresource?: 'status'): Promise<string>;
  refusal(body: object, subresource?: 'status'): Promise<string>;
}

async function anAt(t: TestContext, phase: string, spec: object = book.spec): Promise<Subject> {
  const namespace = await withNamespace(t);
  await namespace.apply({ ...book, spec });
  const args = (body: object, subresource?: string) => [
    ...['patch', 'at', 'example-at', '--type=merge', `--patch=${JSON.stringify(body)}`],
    ...(subresource ? [`--subresource=${subresource}`] : []),
  ];
  const subject: Subject = {
    namespace,
    patch: (body, subresource) => namespace.kubectl(...args(body, subresource)),
    refusal: (body, subresource) => refusal([`--namespace=${namespace.name}`, ...args(body, subresource)]),
  };
  if (phase !== 'PENDING') await subject.patch({ status: { phase } }, 'status');
  return subject;
}

describe('the spec of an At', () => {
  it('may be edited while PENDING', async (t) => {
    const at = await anAt(t, 'PENDING');
    await at.patch({ spec: edits });
    await at.patch({ spec: { command: null, shell: null, argv: ['echo'] } });
  });

  it('may not be edited while RUNNING, but for cancel, suspend and ttlSecondsAfterFinished', async (t) => {
    const at = await anAt(t, 'RUNNING');
    for (const [field, value] of Object.entries(edits)) {
      assert.match(
        await at.refusal({ spec: { [field]: value } }),
        /spec: Forbidden: is immutable while the At is RUNNING, except cancel, suspend/,
        field,
      );
    }
    await at.patch({ spec: { suspend: true, ttlSecondsAfterFinished: 60 } });
    await at.patch({ spec: { suspend: null, ttlSecondsAfterFinished: null, cancel: true } });
    await at.patch({ metadata: { labels: { team: 'ops' }, finalizers: ['example.com/hold'] } });
    await at.patch({ metadata: { finalizers: null } });
  });

  it("may be edited when DONE, as a chart's or Git's next version does", async (t) => {
    const at = await anAt(t, 'DONE');
    await at.patch({ spec: edits });
    await at.patch({ spec: { command: null, shell: null, argv: ['echo'] } });
  });

  it('is compared down to the bottom of the template', async (t) => {
    const at = await anAt(t, 'RUNNING');
    const container = { name: 'busybox', env: [{ name: 'A', value: '2' }] };
    assert.match(
      await at.refusal({ spec: { template: { spec: { containers: [container] } } } }),
      /immutable/,
    );
    assert.match(await at.refusal({ spec: { template: { metadata: { labels: { a: 'b' } } } } }), /immutable/);
    assert.match(await at.refusal({ spec: { template: null } }), /immutable/);
  });

  it('keeps the values of fields that only other kinds of At have', async (t) => {
    const { command: _, ...rest } = book.spec;
    const local = { ...rest, argv: ['echo'], schedule: '2019-04-12T10:12:00', timeZone: 'Europe/Berlin' };
    const at = await anAt(t, 'RUNNING', local);
    assert.match(await at.refusal({ spec: { argv: ['echo', 'NO'] } }), /immutable/);
    assert.match(await at.refusal({ spec: { timeZone: 'UTC' } }), /immutable/);
    assert.match(await at.refusal({ spec: { argv: null, command: 'echo' } }), /immutable/);
    const exactlyOnce = await anAt(t, 'RUNNING', { ...book.spec, launchGuarantee: 'ExactlyOnce' });
    assert.match(await exactlyOnce.refusal({ spec: { launchGuarantee: 'AtLeastOnce' } }), /immutable/);
  });

  it('may be applied again unchanged when DONE, by client and by server', async (t) => {
    const { namespace } = await anAt(t, 'DONE');
    const again = JSON.stringify(book);
    assert.match(await namespace.apply(book), /unchanged/);
    for (const extra of [['apply', '--server-side', '--force-conflicts'], ['replace']]) {
      const output = await kubectl([`--namespace=${namespace.name}`, ...extra, '--filename=-'], again);
      assert.match(output, /example-at (serverside-applied|replaced)/);
    }
    assert.equal(
      await namespace.kubectl(
        'get',
        'at/example-at',
        '--output=jsonpath={.status.phase}/{.metadata.generation}',
      ),
      'DONE/1',
    );
  });
});

describe('cancel', () => {
  it('may be set back, so that a manifest with `cancel: false` never blocks a sync', async (t) => {
    for (const phase of ['PENDING', 'RUNNING', 'DONE']) {
      const at = await anAt(t, phase);
      for (const cancel of [false, null]) {
        await at.patch({ spec: { cancel: true } });
        await at.patch({ spec: { cancel } });
      }
    }
  });
});

describe('what status says of a launch', () => {
  it('is not taken back, so that no command runs again', async (t) => {
    const at = await anAt(t, 'RUNNING');
    await at.patch({ status: { attempts: 2, podUID: 'u-1' } }, 'status');
    for (const attempts of [1, 0, null]) {
      assert.match(
        await at.refusal({ status: { attempts } }, 'status'),
        /status\.attempts: Forbidden: never falls/,
      );
    }
    for (const podUID of ['', null]) {
      assert.match(
        await at.refusal({ status: { podUID } }, 'status'),
        /status\.podUID: Forbidden: is never removed, only replaced/,
      );
    }
    await at.patch({ status: { attempts: 3, podUID: 'u-2' } }, 'status');
    await at.patch({ status: { phase: 'DONE', outcome: 'Failed' } }, 'status');
  });
});

describe('status.phase', () => {
  it('is PENDING at once, without a write, and not yet observed', async (t) => {
    const { namespace } = await anAt(t, 'PENDING');
    assert.deepEqual((await namespace.getJson<{ status: object }>('at/example-at')).status, {
      phase: 'PENDING',
      observedGeneration: -1,
    });
  });

  const back = /status\.phase: Forbidden: never goes back/;

  it('never goes back and is never removed', async (t) => {
    const at = await anAt(t, 'RUNNING');
    assert.match(await at.refusal({ status: { phase: 'PENDING' } }, 'status'), back);
    assert.match(await at.refusal({ status: { phase: null } }, 'status'), back);
    assert.match(await at.refusal({ status: null }, 'status'), back);
    await at.patch({ status: { phase: 'RUNNING', podName: 'example-at-pod' } }, 'status');
    await at.patch({ status: { phase: 'DONE', outcome: 'Succeeded' } }, 'status');
    assert.match(await at.refusal({ status: { phase: 'RUNNING' } }, 'status'), back);
    assert.match(await at.refusal({ status: { phase: 'LATER' } }, 'status'), /supported values: "PENDING"/);
  });

  it('may skip RUNNING', async (t) => {
    const at = await anAt(t, 'PENDING');
    await at.patch({ status: { phase: 'DONE', outcome: 'Missed' } }, 'status');
  });

  it('survives a replacement that says nothing of status', async (t) => {
    const { namespace } = await anAt(t, 'RUNNING');
    const replace = [`--namespace=${namespace.name}`, 'replace', '--subresource=status', '--filename=-'];
    assert.match(await refusal(replace, book), back);
    await kubectl([`--namespace=${namespace.name}`, 'replace', '--filename=-'], JSON.stringify(book));
    assert.equal(
      await namespace.kubectl('get', 'at/example-at', '--output=jsonpath={.status.phase}'),
      'RUNNING',
    );
  });
});
