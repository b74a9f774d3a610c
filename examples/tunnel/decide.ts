/** Decide: what a Service asks for. Pure: nothing goes out. */
import { controllerRef, hasFinalizer } from '@atwatch/runtime';
import type { Deployment } from '@atwatch/runtime/types/apps';
import { type Service, services } from '@atwatch/runtime/types/core';

/** The class of load balancers that this operator is. */
export const loadBalancerClass = 'example.com/tunnel';
/** The record that there may be a machine. */
export const finalizer = 'example.com/tunnel-machine';

/** `keep`: there is to be a machine; `release`: there may be one, and is to be none; `ignore`: not of this operator. */
export function decide(service: Service): 'keep' | 'release' | 'ignore' {
  const { type, loadBalancerClass: wanted } = service.spec ?? {};
  const isAlive = service.metadata.deletionTimestamp === undefined;
  if (isAlive && type === 'LoadBalancer' && wanted === loadBalancerClass) return 'keep';
  return hasFinalizer(service, finalizer) ? 'release' : 'ignore';
}

/** Follows from the Service alone, so that a process that was killed leaves no machine whose name is lost. */
export const machineOf = (service: Service): string => `tunnel-${service.metadata.uid}`;

/** Runs the tunnel's client, which connects the machine at that address with the Service. */
export function deploymentFor(service: Service, address: string, image: string): Deployment {
  const { name, namespace = '', uid = '' } = service.metadata;
  const labels = { 'example.com/tunnel': uid };
  const ports = service.spec?.ports?.map(({ port }) => port).join(',') ?? '';
  const args = [`--remote=${address}`, `--upstream=${name}.${namespace}.svc`, `--ports=${ports}`];
  return {
    metadata: { name: `tunnel-${uid}`, namespace, ownerReferences: [controllerRef(services, service)] },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'tunnel', image, args }] } },
    },
  };
}
