/** The policy on the Pods that the operator's own ServiceAccount creates, beside Pod Security's judgment of the same Pods. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  configMapOwner,
  container,
  largePodSpec,
  manyAnnotations,
  owner,
  pod,
  prefix,
} from './policy-objects.ts';
import { operator, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually, skipBefore } from './support.ts';

let world: PolicyWorld;
const create = ['create', '--dry-run=server', '--filename=-'];

const main = (fields: object) => pod({ containers: [{ ...container, ...fields }] });
const secured = (securityContext: object) => main({ securityContext });
const init = (fields: object) => pod({ initContainers: [{ ...container, name: 'init', ...fields }] });
const httpGet = (host?: string) => ({ httpGet: { port: 80, ...(host !== undefined && { host }) } });
/** Pod Security is asked before a policy, and the operator's namespace enforces its strictest level. */
const restrictedContainer = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
const appArmor = (profile: string) => ({
  annotations: { 'container.apparmor.security.beta.kubernetes.io/busybox': profile },
});

before(async () => {
  world = await startPolicyWorld();
  for (const name of ['kube-listed', 'kube-too', 'kube-other', 'kubernetes', 'enforced']) {
    await world.kubectl(['create', 'namespace', name]);
  }
  await world.kubectl(['label', 'namespace', 'enforced', 'pod-security.kubernetes.io/enforce=baseline']);
  await eventually(
    async () =>
      (await world.kubectl(['get', 'serviceaccounts', '--all-namespaces', '--output=name']))
        .split('\n')
        .filter((name) => name === 'serviceaccount/default').length >= 10,
    { timeout: 60_000, message: 'each namespace has its ServiceAccount' },
  );
});
after(() => world?.stop());

/** What Pod Security does not judge, or not in all versions. */
const ours: Record<string, readonly [object, RegExp | undefined]> = {
  'a Pod that an At controls': [pod(), undefined],
  'a Pod with the finalizer of an At': [pod({}, { finalizers: [`${prefix}tracked`] }), undefined],
  'a Pod with the gate of an At': [pod({ schedulingGates: [{ name: `${prefix}recorded` }] }), undefined],
  'a large Pod': [pod(largePodSpec, { annotations: manyAnnotations }), undefined],
  'a Pod without an owner': [pod({}, { ownerReferences: [] }), /only Pods that an At controls/],
  'a Pod that an At owns but does not control': [
    pod({}, { ownerReferences: [{ ...owner, controller: false }] }),
    /only Pods that an At controls/,
  ],
  'a Pod of another owner': [
    pod({}, { ownerReferences: [{ ...owner, apiVersion: 'apps/v1', kind: 'ReplicaSet' }] }),
    /only Pods that an At controls/,
  ],
  'a Pod of an At of another group': [
    pod({}, { ownerReferences: [{ ...owner, apiVersion: 'evil.example/v1' }] }),
    /only Pods that an At controls/,
  ],
  'a Pod that a ConfigMap owns, too': [
    pod({}, { ownerReferences: [owner, configMapOwner] }),
    /only Pods that an At controls and nothing else owns/,
  ],
  'a Pod of two Ats': [
    pod({}, { ownerReferences: [owner, { ...owner, name: 'b', controller: false }] }),
    /nothing else owns/,
  ],
  'a Pod on a node of its choice': [pod({ nodeName: 'node-1' }), /bypasses the scheduler \(nodeName\)/],
  'a Pod with a finalizer of another': [
    pod({}, { finalizers: [`${prefix}tracked`, 'example.com/never'] }),
    /with a finalizer \(metadata\.finalizers\)/,
  ],
  'a Pod as important as the cluster': [
    pod({ priorityClassName: 'system-cluster-critical' }),
    /priorityClassName system-\*/,
  ],
  'a Pod as important as its node': [
    pod({ priorityClassName: 'system-node-critical' }),
    /priorityClassName system-\*/,
  ],
  'a Pod in kube-system': [pod({}, { namespace: 'kube-system' }), /no Pod in the namespace kube-system/],
  'a Pod in another namespace of Kubernetes': [
    pod({}, { namespace: 'kube-other' }),
    /no Pod in the namespace kube-other.* unless .*allowed-namespaces.* team-atwatch-operator-identity/,
  ],
  'a Pod in its own namespace': [
    pod(
      {
        ...{ containers: [{ ...container, securityContext: restrictedContainer }] },
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      },
      { namespace: 'other' },
    ),
    /no Pod in the namespace other/,
  ],
  'a Pod in a namespace that is listed': [pod({}, { namespace: 'kube-listed' }), undefined],
  'a Pod in the last namespace that is listed': [pod({}, { namespace: 'kube-too' }), undefined],
  'a Pod with an unmasked /proc': [
    pod({
      hostUsers: false,
      containers: [{ ...container, securityContext: { procMount: 'Unmasked' } }],
    }),
    /procMount/,
  ],
  'a Pod in a namespace that is called much the same': [pod({}, { namespace: 'kubernetes' }), undefined],
};

/** Pod Security "baseline" judges these the same. */
const baseline: Record<string, readonly [object, RegExp | undefined]> = {
  'a plain Pod': [pod(), undefined],
  'a Pod with ordinary volumes and capabilities': [
    pod({
      volumes: [{ name: 'a', emptyDir: {} }],
      containers: [
        { ...container, securityContext: { capabilities: { add: ['CHOWN', 'SYS_CHROOT'], drop: ['ALL'] } } },
      ],
    }),
    undefined,
  ],
  'a Pod that runs as root': [secured({ runAsUser: 0, runAsNonRoot: false }), undefined],
  'a Pod with all that baseline admits': [
    pod({
      securityContext: {
        seccompProfile: { type: 'Localhost', localhostProfile: 'a.json' },
        seLinuxOptions: { type: 'container_engine_t', level: 's0' },
        appArmorProfile: { type: 'RuntimeDefault' },
        sysctls: [
          { name: 'net.ipv4.tcp_wmem', value: '1 2 3' },
          { name: 'kernel.shm_rmid_forced', value: '1' },
        ],
      },
      containers: [
        {
          ...container,
          ports: [{ containerPort: 80 }],
          livenessProbe: httpGet(),
          readinessProbe: httpGet(''),
          lifecycle: { preStop: { exec: { command: ['true'] } } },
          securityContext: {
            procMount: 'Default',
            seccompProfile: { type: 'RuntimeDefault' },
            seLinuxOptions: { type: 'container_t' },
            appArmorProfile: { type: 'Localhost', localhostProfile: 'a' },
          },
        },
      ],
    }),
    undefined,
  ],
  "a Pod with AppArmor's default by annotation": [pod({}, appArmor('runtime/default')), undefined],
  'a Pod with an AppArmor profile by annotation': [pod({}, appArmor('localhost/a')), undefined],
  'a Pod in the network of its node': [pod({ hostNetwork: true }), /hostNetwork/],
  'a Pod among the processes of its node': [pod({ hostPID: true }), /hostPID/],
  'a Pod in the IPC namespace of its node': [pod({ hostIPC: true }), /hostIPC/],
  'a Pod with a folder of its node': [pod({ volumes: [{ name: 'a', hostPath: { path: '/' } }] }), /hostPath/],
  'a Pod with a port of its node': [main({ ports: [{ containerPort: 80, hostPort: 80 }] }), /hostPort/],
  'an init container with a port of its node': [
    init({ ports: [{ containerPort: 80, hostPort: 80 }] }),
    /hostPort/,
  ],
  'a privileged Pod': [secured({ privileged: true }), /privileged/],
  'a privileged init container': [init({ securityContext: { privileged: true } }), /privileged/],
  'a Pod of Windows with processes of its node': [
    pod({
      hostNetwork: true,
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } },
    }),
    /windowsOptions\.hostProcess/,
  ],
  'a Pod with a capability of the node': [
    secured({ capabilities: { add: ['CHOWN', 'SYS_ADMIN'] } }),
    /capabilities/,
  ],
  'a Pod with the raw network': [secured({ capabilities: { add: ['NET_RAW'] } }), /capabilities/],
  'an init container with all capabilities': [
    init({ securityContext: { capabilities: { add: ['ALL'] } } }),
    /capabilities/,
  ],
  'a Pod without seccomp': [
    pod({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    /seccompProfile/,
  ],
  'a container without seccomp': [secured({ seccompProfile: { type: 'Unconfined' } }), /seccompProfile/],
  'an init container without seccomp': [
    init({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    /seccompProfile/,
  ],
  'a Pod without AppArmor': [
    pod({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
    /appArmorProfile/,
  ],
  'a container without AppArmor': [secured({ appArmorProfile: { type: 'Unconfined' } }), /appArmorProfile/],
  'a container without AppArmor by annotation': [
    pod({}, appArmor('unconfined')),
    /(annotation container\.apparmor|appArmorProfile)/,
  ],
  'a Pod with a SELinux type of the host': [
    pod({ securityContext: { seLinuxOptions: { type: 'spc_t' } } }),
    /SELinux/,
  ],
  'a container with a SELinux user': [secured({ seLinuxOptions: { user: 'system_u' } }), /SELinux/],
  'a container with a SELinux role': [secured({ seLinuxOptions: { role: 'system_r' } }), /SELinux/],
  'a Pod with a sysctl of the node': [
    pod({ securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
    /sysctl/,
  ],
  'a liveness probe of another host': [main({ livenessProbe: httpGet('10.0.0.1') }), /httpGet\.host/],
  'a readiness probe of another host': [
    main({ readinessProbe: { tcpSocket: { port: 80, host: '10.0.0.1' } } }),
    /tcpSocket\.host/,
  ],
  'a startup probe of another host': [main({ startupProbe: httpGet('10.0.0.1') }), /httpGet\.host/],
  'a start hook that calls another host': [
    main({ lifecycle: { postStart: httpGet('10.0.0.1') } }),
    /httpGet\.host/,
  ],
  'a stop hook of a sidecar that calls another host': [
    init({ restartPolicy: 'Always', lifecycle: { preStop: httpGet('10.0.0.1') } }),
    /httpGet\.host/,
  ],
};

/** Of what a judgement hangs that older API servers do not make. */
const skips = [
  [/^a Pod with an unmasked \/proc$/, await skipBefore(33, 'the field is dropped')],
  [/another host$/, await skipBefore(34, 'Pod Security looks at no host of a probe or hook')],
  [/^a Pod with all that baseline admits$/, await skipBefore(32, 'baseline admits fewer sysctls')],
] as const;
const skipOf = (name: string) => skips.find(([pattern]) => pattern.test(name))?.[1] ?? false;

describe('the policy on the Pods that the operator creates', { concurrency: 4 }, () => {
  for (const [name, [object, says]] of Object.entries({ ...ours, ...baseline })) {
    const skip = name in ours && skipOf(name);
    it(`${says ? 'refuses' : 'admits'} ${name}`, { skip }, async () => {
      const refusal = await world.refusal(operator, create, object);
      if (says) assert.match(refusal, says);
      else assert.equal(refusal, '');
    });
  }
  for (const [name, [object, says]] of Object.entries(baseline)) {
    it(`judges ${name} as Pod Security does`, { skip: skipOf(name) }, async () => {
      const { metadata, ...rest } = object as ReturnType<typeof pod>;
      const enforced = { ...rest, metadata: { ...metadata, namespace: 'enforced', ownerReferences: [] } };
      const args = [...create, '--validate=false'];
      const output = await world.kubectl(args, enforced).catch((error: Error) => error.message);
      assert.match(output, says ? /violates PodSecurity "baseline:latest"/ : /created/);
    });
  }

  it('concerns no other user', async () => {
    const stranger = pod({ hostPID: true }, { ownerReferences: [] });
    assert.match(await world.kubectl(create, stranger), /created/);
    const neighbor = 'system:serviceaccount:other:team-atwatch-controller-manager2';
    assert.match(await world.refusal(neighbor, create, pod()), /cannot create resource "pods"/);
  });
});
