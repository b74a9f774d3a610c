/**
 * Benchmark of decoding: how many megabytes of a watch stream one core takes, from chunks as they come from a
 * socket. Measured step by step, each with all before it: cutting lines; watch events, which is lines and
 * JSON; cached objects, which is what the reflector does with each event before the store has it (transform,
 * without managedFields, frozen). The floor is JSON.parse alone, of lines that are strings already.
 *
 * The streams: waiting Ats, 1.7 KB a line, with the operator's transform; and ConfigMaps of 100 KB.
 */
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { transformAt } from '../../src/at/facts/transform.ts';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { toCachedObject } from '../../src/runtime/cache/cached-object.ts';
import { LineSplitter } from '../../src/runtime/client/json-lines.ts';
import { typed } from '../../src/runtime/client/typed.ts';
import { watchEvents } from '../../src/runtime/client/watch-stream.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { bestOfEach, perCpuSecond } from './measure.ts';
import { printTable } from './table.ts';
import { configMap, initialBytes, waitingAt } from './watch-stream.ts';

const megabyte = 1024 ** 2;
const streamSize = 64 * megabyte;

interface Stream<T extends KubernetesObject> {
  readonly title: string;
  readonly resource: Resource<T>;
  readonly make: (index: number) => T;
  readonly transform: ((object: T) => T) | undefined;
}

async function measure<T extends KubernetesObject>(stream: Stream<T>): Promise<void> {
  const { title, resource, make, transform } = stream;
  const lineSize = Buffer.byteLength(JSON.stringify({ type: 'ADDED', object: make(1) })) + 1;
  const chunks = [...initialBytes(Math.floor(streamSize / lineSize), make)];
  const splitter = new LineSplitter();
  const lines = chunks.flatMap((chunk) => [...splitter.push(chunk)]);
  const megabytes = chunks.reduce((sum, { length }) => sum + length, 0) / megabyte;
  const events = () => watchEvents<T>(arriving(chunks), (object) => typed(resource, object), systemClock);
  const result = await bestOfEach({
    lines: () => perCpuSecond(megabytes, () => cutLines(chunks)),
    json: () => perCpuSecond(megabytes, () => parseLines(lines)),
    events: () => perCpuSecond(megabytes, () => drain(events(), () => {})),
    cached: () =>
      perCpuSecond(megabytes, () =>
        drain(events(), ({ type, object }) => {
          if (type === 'ADDED') toCachedObject(resource, { metadataOnly: false, transform }, object);
        }),
      ),
  });
  const unit = 'MB/s per core';
  printTable(`decoding: ${title}`, [
    { what: 'lines', value: result.lines, unit },
    { what: 'lines, JSON: watch events', value: result.events, unit, target: { atLeast: 100 } },
    { what: 'lines, JSON, cached objects', value: result.cached, unit, target: { atLeast: 100 } },
    { what: 'JSON.parse alone', value: result.json, unit },
    { what: 'cached objects ÷ JSON.parse alone', value: result.cached / result.json, unit: '' },
  ]);
}

/** The chunks as a response's body hands them on. */
async function* arriving(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void, undefined> {
  yield* chunks;
}

async function drain<E>(events: AsyncIterable<E>, take: (event: E) => void): Promise<void> {
  for await (const event of events) take(event);
}

function cutLines(chunks: readonly Buffer[]): number {
  const splitter = new LineSplitter();
  let length = 0;
  for (const chunk of chunks) for (const line of splitter.push(chunk)) length += line.length;
  return length;
}

function parseLines(lines: readonly string[]): number {
  let objects = 0;
  for (const line of lines) if (JSON.parse(line).object !== undefined) objects++;
  return objects;
}

await measure<At>({ title: 'waiting Ats', resource: ats, make: waitingAt, transform: transformAt });
await measure<ConfigMap>({
  title: 'ConfigMaps of 100 KB',
  resource: configMaps,
  make: (index) => configMap(index, 100 * 1024),
  transform: undefined,
});
