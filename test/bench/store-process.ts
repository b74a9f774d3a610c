/**
 * Store process: fills one informer with {@link StoreOptions.count} objects, in a process of its own so that
 * nothing else is in its memory, and sends a {@link StoreResult} to its parent.
 *
 * Its only argument is {@link StoreOptions} as JSON.
 */
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { transformAt } from '../../src/at/facts/transform.ts';
import { configMaps, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Informer } from '../../src/runtime/cache/informer.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { cpuSeconds, type Memory, measureMemory, peakRss } from './measure.ts';
import { configMapMetadata, initialBytes, waitingAt, watchingClient } from './watch-stream.ts';

export interface StoreOptions {
  readonly kind: 'ats' | 'configmaps';
  readonly count: number;
}

export interface StoreResult {
  readonly base: Memory;
  readonly full: Memory;
  /** Bytes. */
  readonly peakRss: number;
  /** CPU seconds, the making of the bytes included. */
  readonly seconds: number;
}

const end = new AbortController();

async function syncedInformer(
  kind: StoreOptions['kind'],
  count: number,
): Promise<Informer<KubernetesObject>> {
  const make = kind === 'ats' ? waitingAt : configMapMetadata;
  const client = watchingClient(initialBytes(count, make));
  const informers = new Informers({ client, clock: systemClock, log: silentLogger, namespaces: [] });
  const informer =
    kind === 'ats'
      ? informers.informerFor<At>(ats, { transform: transformAt })
      : informers.informerFor(configMaps, { metadataOnly: true });
  informers.start(end.signal);
  await informers.waitForSync(end.signal);
  return informer as Informer<KubernetesObject>;
}

const { kind, count } = JSON.parse(process.argv[2]!) as StoreOptions;
await syncedInformer(kind, 100);
const base = await measureMemory();
let informer: Informer<KubernetesObject> | undefined;
const seconds = await cpuSeconds(async () => {
  informer = await syncedInformer(kind, count);
});
const full = await measureMemory();
const result: StoreResult = { base, full, peakRss: peakRss(), seconds };
// Asked last, so that the store is in use until then.
const stored = informer?.lister.list().length;
if (stored !== count) throw new Error(`the store has ${stored} objects instead of ${count}`);
end.abort();
process.send?.(result);
