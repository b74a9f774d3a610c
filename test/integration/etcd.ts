/** The etcd of a control plane, by the JSON gateway on its socket. */
import { request } from 'node:http';
import { join } from 'node:path';
import type { ControlPlane } from '../../local-cluster/control-plane.ts';

/** Asks etcd. */
export async function etcd(
  plane: ControlPlane,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const socketPath = join(plane.directory, 'etcd', 'client:1');
  return await new Promise((resolve, reject) => {
    const call = request({ socketPath, path, method: 'POST' }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      if (response.statusCode === 200) resolve(JSON.parse(text));
      else reject(new Error(`etcd answered ${response.statusCode}: ${text}`));
    });
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}

/** Throws the past of every object away. An API server that runs still serves it from its memory. */
export async function compact(plane: ControlPlane): Promise<void> {
  const { header } = await etcd(plane, '/v3/kv/range', { key: base64('/') });
  const revision = Reflect.get(header as object, 'revision');
  await etcd(plane, '/v3/kv/compaction', { revision, physical: true });
}

/** As the gateway takes keys. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
