/**
 * Watch stream: a watch response of any length as the API server would send it, made while it is read, and a
 * client on which a real informer reads it. Its objects are Ats as `kubectl apply` and the operator leave
 * them: with last-applied annotation, managedFields and status.
 */
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import {
  type Condition,
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { formatTime } from '../../src/kubernetes/time.ts';
import type { Client, WatchCallOptions, WatchEvent } from '../../src/runtime/client/client.ts';
import { typed } from '../../src/runtime/client/typed.ts';
import { watchEvents } from '../../src/runtime/client/watch-stream.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** What one read of a socket brings at most. */
const chunkSize = 64 * 1024;
const apiVersion = `${ats.group}/${ats.version}`;
const firstDue = Date.UTC(2030, 0, 31, 9);

/** A waiting At, number `index` of its kind; one is made and one is due each second. */
export function waitingAt(index: number): At {
  const namespace = `customer-${index % 40}`;
  const name = `report-${index}`;
  const scheduledTime = formatTime(firstDue + index * 1000);
  const creationTimestamp = formatTime(firstDue + (index - 1_000_000) * 1000);
  const spec = { schedule: scheduledTime, command: `send-report --customer ${index}` };
  const metadata = { name, namespace, labels: { app: 'reports' }, annotations: {} };
  const applied = JSON.stringify({ apiVersion, kind: ats.kind, metadata, spec });
  return {
    apiVersion,
    kind: ats.kind,
    metadata: {
      ...metadata,
      uid: `6f1c0f6e-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1_000_000 + index),
      generation: 1,
      creationTimestamp,
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `${applied}\n` },
      managedFields: [
        managedBy('kubectl-client-side-apply', creationTimestamp, { schedule: {}, command: {} }),
        managedBy('atwatch', creationTimestamp, { phase: {}, reason: {}, scheduledTime: {}, conditions: {} }),
      ],
    },
    spec,
    status: {
      phase: 'PENDING',
      reason: 'Armed',
      scheduledTime,
      observedGeneration: 1,
      conditions: [
        condition('Accepted', 'the spec can be run', creationTimestamp),
        condition('Ready', 'waits for its time', creationTimestamp),
      ],
    },
  };
}

function condition(type: string, message: string, lastTransitionTime: string): Condition {
  return { type, status: 'True', reason: 'Armed', message, observedGeneration: 1, lastTransitionTime };
}

function managedBy(manager: string, time: string, fields: Record<string, unknown>) {
  const entries = Object.entries(fields).map(([field, value]) => [`f:${field}`, value]);
  const fieldsV1 = { 'f:content': { '.': {}, ...Object.fromEntries(entries) } };
  return { manager, operation: 'Update', apiVersion, time, fieldsType: 'FieldsV1', fieldsV1 };
}

/** A ConfigMap with so many bytes of a configuration file. */
export function configMap(index: number, size: number): ConfigMap {
  const { metadata } = configMapMetadata(index);
  const line = `server.option.${index} = "value"\n`;
  const data = { 'application.properties': line.repeat(Math.ceil(size / line.length)) };
  return { apiVersion: 'v1', kind: configMaps.kind, metadata, data };
}

/** The metadata of a ConfigMap, as a metadata-only watch shows it; number `index`. */
export function configMapMetadata(index: number): KubernetesObject {
  const creationTimestamp = formatTime(firstDue + (index - 1_000_000) * 1000);
  return {
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadata',
    metadata: {
      name: `settings-${index}`,
      namespace: `customer-${index % 40}`,
      uid: `6f1c0f6e-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1_000_000 + index),
      creationTimestamp,
      labels: { app: 'reports' },
      managedFields: [managedBy('kubectl-create', creationTimestamp, { data: {} })],
    },
  };
}

/**
 * The bytes of a watch that shows `count` objects, and then the bookmark that ends the initial events, in
 * pieces of the size that one read of a socket brings; lines begin and end anywhere in them.
 */
export function* initialBytes(count: number, object: (index: number) => KubernetesObject): Generator<Buffer> {
  let text = '';
  let rest = Buffer.alloc(0);
  for (let index = 0; index < count; index++) {
    text += eventLine('ADDED', object(index));
    if (text.length < chunkSize) continue;
    rest = Buffer.concat([rest, Buffer.from(text)]);
    text = '';
    for (; rest.length >= chunkSize; rest = rest.subarray(chunkSize)) yield rest.subarray(0, chunkSize);
  }
  const metadata = {
    name: '',
    resourceVersion: '9000000',
    annotations: { 'k8s.io/initial-events-end': 'true' },
  };
  yield Buffer.concat([rest, Buffer.from(text + eventLine('BOOKMARK', { metadata }))]);
}

function eventLine(type: WatchEvent<KubernetesObject>['type'], object: KubernetesObject): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** A client with nothing but one watch, which never ends. */
export function watchingClient(bytes: Iterable<Buffer>): Client {
  async function* stream(signal: AbortSignal): AsyncGenerator<Buffer> {
    yield* bytes;
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
  const client = {
    watch: async (resource: Resource, { signal }: WatchCallOptions) =>
      watchEvents(stream(signal), (object) => typed(resource, object), systemClock),
  };
  return client as unknown as Client;
}
