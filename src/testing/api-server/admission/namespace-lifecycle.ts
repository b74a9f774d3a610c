/**
 * Namespace lifecycle: nothing new goes into a namespace that is not there or is being terminated.
 */

import type { Etcd } from '../etcd.ts';
import { forbidden, notFound } from '../failure.ts';
import { isJsonObject } from '../json-value.ts';
import type { Router } from '../route.ts';
import type { AnyObject } from '../strategy.ts';
import type { Admit } from './admission.ts';

const immortal = ['default', 'kube-system', 'kube-public'];

/** Without effect while namespaces are not served. */
export function namespaceLifecycle(etcd: Etcd, router: Router): Admit {
  return ({ operation, resource, namespace, name }) => {
    if (operation === 'DELETE' && resource.plural === 'namespaces' && immortal.includes(name)) {
      throw forbidden(resource, name, 'this namespace may not be deleted');
    }
    if (operation !== 'CREATE' || !resource.namespaced) return;
    const namespaces = router.find('', 'v1', 'namespaces');
    if (namespaces === undefined) return;
    const found: AnyObject | undefined = etcd.get(namespaces, '', namespace);
    if (found === undefined) throw notFound(namespaces, namespace);
    if (!isJsonObject(found.status) || found.status.phase !== 'Terminating') return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const message = `namespace ${namespace} is being terminated`;
    throw forbidden(resource, name, why, [
      { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' },
    ]);
  };
}
