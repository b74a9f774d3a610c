/** Creates of Pods: what a test does around those that an operator sends, dry runs aside. */
import { pods } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';

/**
 * For `onConnect` of an operator.
 *
 * @param around what is done in place of each create of a Pod of this name; `send` carries it out.
 */
export function aroundPodCreates(
  around: <T>(send: () => Promise<T>, name: string) => Promise<T>,
): (client: Client) => void {
  return (client) => {
    const create = client.create.bind(client);
    client.create = (resource, object, options) => {
      const send = () => create(resource, object, options);
      if (resource.plural !== pods.plural || options?.dryRun) return send();
      return around(send, 'name' in object.metadata ? object.metadata.name : '');
    };
  };
}
