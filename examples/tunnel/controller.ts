/** The controller: read, record, provision, write. */
import { isDeepStrictEqual } from 'node:util';
import { controllerManagedBy, finalizerPatch, type Host, isNotFound } from '@atwatch/runtime';
import { deployments } from '@atwatch/runtime/types/apps';
import { type Service, services } from '@atwatch/runtime/types/core';
import { decide, deploymentFor, finalizer, machineOf } from './decide.ts';
import type { Machines } from './machines.ts';

/** Adds the controller to a Manager, which is a Host; it runs when the Manager does. */
export function addController(host: Host, machines: Machines, image: string): void {
  const { client, informers } = host;
  const serviceLister = informers.informerFor(services).lister;
  const deploymentLister = informers.informerFor(deployments).lister;
  /** The record goes last: a kill before it repeats all this. */
  async function release(service: Service, signal: AbortSignal): Promise<object> {
    const { namespace = '', name } = service.metadata;
    const machine = machineOf(service);
    await client.delete(deployments, { namespace, name: machine }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await machines.remove(machine, signal);
    const patch = finalizerPatch(service, finalizer, 'absent');
    if (patch) await client.patch(services, { namespace, name }, patch, { signal });
    return {};
  }
  controllerManagedBy(host)
    .for(services)
    .owns(deployments)
    .complete({
      async reconcile(key, { signal }) {
        const service = serviceLister.get(key.namespace, key.name);
        const task = service && decide(service);
        if (service === undefined || task === 'ignore') return {};
        const machine = machineOf(service);
        const child = { namespace: key.namespace, name: machine };
        if (task === 'release') return release(service, signal);
        // The record comes first, and its write wakes this again: no machine is made that no finalizer tells of.
        const patch = finalizerPatch(service, finalizer, 'present');
        if (patch) {
          await client.patch(services, key, patch, { signal });
          return {};
        }
        const address = await machines.ensure(machine, signal);
        const wanted = deploymentFor(service, address, image);
        const found = deploymentLister.get(child.namespace, child.name);
        const args = (of: typeof wanted) => of.spec?.template.spec?.containers[0]?.args;
        if (!found) await client.create(deployments, wanted, { signal });
        else if (!isDeepStrictEqual(args(found), args(wanted))) {
          const body = { spec: wanted.spec };
          await client.patch(deployments, child, { type: 'merge', body }, { signal });
        }
        // Crash window: all is made, the status does not say so. The next pass does.
        if (service.status?.loadBalancer?.ingress?.[0]?.ip !== address) {
          const body = { status: { loadBalancer: { ingress: [{ ip: address }] } } };
          await client.patchStatus(services, key, { type: 'merge', body }, { signal });
        }
        return {};
      },
    });
}
