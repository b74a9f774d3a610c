import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atSchema } from '../../../src/api/at.generated.ts';
import { policyVerdicts } from '../../../src/cli/doctor/access.ts';
import { type Finding, findingLines } from '../../../src/cli/doctor/finding.ts';
import {
  leaseFinding,
  missingFinding,
  podFinding,
  servedFinding,
  servedNamespaces,
} from '../../../src/cli/doctor/replicas.ts';
import { clockFinding, missingFields } from '../../../src/cli/doctor/server.ts';
import { styleOf } from '../../../src/cli/output/style.ts';

const now = Date.UTC(2026, 10, 22, 9, 0);

function expect({ verdict, text, remedy }: Finding, wanted: Finding['verdict'], pattern: RegExp): void {
  assert.equal(verdict, wanted, text);
  assert.match(text, pattern);
  assert.equal(remedy === undefined, wanted === 'ok', 'what is wrong has a remedy');
}

describe('the doctor finds no operator', () => {
  it('which is wrong where none has seen anything', () => {
    expect(
      missingFinding(false, 'shop'),
      'bad',
      /^no operator was found: .* none has seen an object in shop$/,
    );
  });

  it('which may be right where one has', () => {
    expect(missingFinding(true, 'shop'), 'warn', /^no operator was found: /);
  });
});

describe('the doctor looks at the Lease', () => {
  const lease = (spec: object) => ({ metadata: { namespace: 'atwatch-system', name: 'atwatch' }, spec });
  const acquireTime = '2026-11-22T06:00:00.000000Z';

  it('that is renewed', () => {
    const spec = {
      holderIdentity: 'pod-1',
      acquireTime,
      renewTime: '2026-11-22T08:59:58.000000Z',
      leaseDurationSeconds: 15,
    };
    expect(
      leaseFinding(lease(spec), now),
      'ok',
      /^the operator pod-1 in atwatch-system has led for 3h, and renewed its Lease 2s ago$/,
    );
  });

  it('that is not renewed any more', () => {
    const spec = {
      holderIdentity: 'pod-1',
      acquireTime,
      renewTime: '2026-11-22T08:59:40.000000Z',
      leaseDurationSeconds: 15,
    };
    expect(
      leaseFinding(lease(spec), now),
      'bad',
      /^no operator leads: pod-1 in atwatch-system last renewed its Lease 20s ago$/,
    );
    expect(leaseFinding(lease({ holderIdentity: 'pod-1' }), now), 'bad', /^no operator leads/);
  });

  it('that was given back', () => {
    expect(leaseFinding(lease({ holderIdentity: '' }), now), 'bad', /was given back$/);
  });
});

describe('the doctor looks at the Pods', () => {
  const container = { name: 'config-watcher', image: 'example/atwatch:1' };
  const pod = (status: object, fields: object = {}) => ({
    metadata: { namespace: 'atwatch-system', name: 'p' },
    spec: {
      containers: [
        { name: 'sidecar', image: 'x' },
        { ...container, ...fields },
      ],
    },
    status,
  });

  it('that are ready or not', () => {
    expect(
      podFinding(pod({ conditions: [{ type: 'Ready', status: 'True' }] })),
      'ok',
      /Pod atwatch-system\/p is ready, image example\/atwatch:1, 0 restarts$/,
    );
    expect(podFinding(pod({})), 'bad', /is not ready/);
  });

  it('for the namespaces that they serve', () => {
    const env = [{ name: 'WATCH_NAMESPACE', value: 'a,b' }];
    assert.deepEqual(servedNamespaces(pod({})), []);
    assert.deepEqual(servedNamespaces(pod({}, { env })), ['a', 'b']);
    assert.deepEqual(servedNamespaces(pod({}, { env, args: ['--namespaces=c'] })), ['c']);
    expect(servedFinding([], 'dev'), 'ok', /all namespaces/);
    expect(servedFinding(['dev', 'a'], 'dev'), 'ok', /^it serves dev, with 2 namespaces in all$/);
    expect(servedFinding(['a'], 'dev'), 'bad', /^it serves a only, not dev$/);
  });
});

describe('the doctor looks at', () => {
  it('the policies, by whatever prefix they are installed', () => {
    const bindings = ['requester', 'operator-identity', 'operator-pods', 'operator-updates'].map((name) => ({
      metadata: { name },
      spec: { policyName: `mine-${name}`, validationActions: ['Deny'] },
    }));
    const [whole] = policyVerdicts(bindings);
    expect(whole ?? assert.fail(), 'ok', /are in force$/);
    const [open, ...more] = policyVerdicts(bindings.slice(1));
    expect(open ?? assert.fail(), 'warn', /^the policy requester is not in force: a user who may create/);
    assert.deepEqual(more, []);
    const audited = bindings.map(({ metadata, spec }) => ({
      metadata,
      spec: { ...spec, validationActions: ['Audit'] },
    }));
    assert.deepEqual(
      policyVerdicts(audited).map(({ remedy }) => remedy !== undefined),
      [false, false, false, true],
    );
  });

  it('the clock', () => {
    expect(clockFinding(999), 'ok', /agrees/);
    expect(clockFinding(-90_000), 'warn', /is 1m30s behind the cluster's/);
    expect(clockFinding(5000), 'warn', /is 5s ahead of the cluster's/);
  });

  it('the CRD, for fields that it lacks', () => {
    assert.deepEqual(missingFields(atSchema, atSchema), []);
    assert.deepEqual(
      missingFields(
        { properties: { spec: { properties: { a: {}, b: {} } } } },
        { properties: { spec: { properties: { a: {} } } } },
      ),
      ['spec.b'],
    );
  });
});

it('a finding says what to do below it', () => {
  const style = styleOf({ write() {}, isTerminal: false }, {});
  assert.deepEqual(findingLines({ verdict: 'warn', text: 'wrong', remedy: 'mend it' }, style), [
    'WARN  wrong',
    '      do: mend it',
  ]);
});
