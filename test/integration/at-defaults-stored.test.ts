/** What the API server stores of the book's sample: the defaults of the CRD, and those of its Pod. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds } from './support.ts';

const sample = '../shared/books/cnat/kubebuilder-cnat_v1alpha1_at.yaml';
const skip = existsSync(sample) ? false : `the manifest of the book is not at ${sample}`;

before(() => applyCrds());

const seccompProfile = { type: 'RuntimeDefault' };
const nonRoot = { runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, seccompProfile };
const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

describe("the book's sample", { skip }, () => {
  it("is stored with the CRD's defaults and nothing else, and its Pod with as few rights as it can", async (t) => {
    const rig = await AtRig.create(t);
    const manifest: At = parse(await readFile(sample, 'utf8'));
    const metadata = { ...manifest.metadata, namespace: rig.namespace };
    const created = await rig.client.create(ats, { ...manifest, metadata });
    const spec = {
      ...{ schedule: '2019-04-12T10:12:00Z', command: 'echo YAY', suspend: false, cancel: false },
      ...{ pendingTimeoutSeconds: 900, backoffLimit: 6 },
      ...{ disruptionPolicy: 'Fail', launchGuarantee: 'AtLeastOnce' },
    };
    assert.deepEqual(created.spec, spec);
    await rig.startOperator();
    // The operator's own defaults are never written into the spec.
    assert.deepEqual((await rig.inPhase('RUNNING')).spec, spec);

    const pod = await rig.pod();
    assert.deepEqual(pod.spec.securityContext, nonRoot);
    assert.deepEqual(
      pod.spec.containers.map(({ securityContext }) => securityContext),
      [restricted],
    );
    assert.equal(pod.spec.automountServiceAccountToken, false);
    // Nor is a token brought in by another way.
    assert.equal(pod.spec.volumes, undefined);
    const { apiVersion, kind } = manifest;
    const { name, uid } = created.metadata;
    // All of it: blockOwnerDeletion would need a right on the finalizers of Ats.
    assert.deepEqual(pod.metadata.ownerReferences, [{ apiVersion, kind, name, uid, controller: true }]);
  });
});

describe('a template that says otherwise', () => {
  it('is kept as it is, and filled up only where it says nothing', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const root = {
      automountServiceAccountToken: true,
      securityContext: { runAsNonRoot: false, runAsUser: 0 },
    };
    const user = { securityContext: { runAsUser: 1000, seccompProfile: { type: 'Unconfined' } } };
    // The user that the image names.
    const image = { securityContext: { runAsNonRoot: false } };
    const expected = [
      ['root', root, { ...root.securityContext, seccompProfile }, true],
      ['user', user, { ...nonRoot, ...user.securityContext }, false],
      ['image', image, { ...image.securityContext, seccompProfile }, false],
    ] as const;
    for (const [name, spec] of expected) {
      await rig.createAt({ command: 'true', template: { spec: { ...spec, containers: [{}] } } }, name);
    }
    for (const [name, , securityContext, automount] of expected) {
      await rig.inPhase('RUNNING', name);
      const { spec } = await rig.pod(`${name}-pod`);
      assert.deepEqual(spec.securityContext, securityContext, name);
      assert.equal(spec.automountServiceAccountToken, automount, name);
      assert.deepEqual(spec.containers[0]?.securityContext, restricted, name);
    }
  });
});
