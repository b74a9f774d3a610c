/** Story: what happened in a run, for people: who did what at which virtual time, one short line each. */
import type { At } from '../../src/api/at.generated.ts';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import type { KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import { stateOf } from './coverage.ts';
import { type ChangeEntry, type Entry, isWrite, jsonOf, type RequestEntry } from './entry.ts';
import type { Violation } from './history.ts';

/** Most characters of a line. */
const width = 180;

export class Story {
  readonly #startsAt: number;
  readonly #lines: string[] = [];

  /** @param startsAt true time at the start, epoch ms. */
  constructor(startsAt: number) {
    this.#startsAt = startsAt;
  }

  see(entry: Entry): void {
    const text = sentenceOf(entry);
    if (text !== undefined) this.#lines.push(this.#line(entry.time, text));
  }

  #line(time: number, text: string): string {
    const line = `${timeText(time - this.#startsAt)}  ${text.replaceAll('\n', ' ')}`;
    return line.length > width ? `${line.slice(0, width - 1)}…` : line;
  }

  /** @param last at most so many lines before the end. */
  text(violations: readonly Violation[], last = 400): string {
    const lines = this.#lines.slice(-last);
    const left = this.#lines.length - lines.length;
    return [
      ...(left > 0 ? [`(${left} lines before)`] : []),
      ...lines,
      ...violations.map(({ promise, text, clue, time }) =>
        this.#line(time, `BROKEN ${promise}: ${text}${clue && ` (${clue})`}`),
      ),
    ].join('\n');
  }
}

/** `1:02:03.456` */
export function timeText(ms: number): string {
  const whole = Math.floor(ms);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const millis = String(whole % 1000).padStart(3, '0');
  return `${Math.floor(whole / 3_600_000)}:${two((whole / 60_000) % 60)}:${two((whole / 1000) % 60)}.${millis}`;
}

function sentenceOf(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'edit':
      return `${entry.actor} ${entry.text}`;
    case 'fault':
      return `fault ${entry.state}: ${entry.text}`;
    case 'replica':
      return `${entry.replica} ${entry.state}`;
    case 'container-start':
      return `  container of ${entry.pod} starts`;
    case 'container-end':
      return `  container of ${entry.pod} ends with ${entry.exitCode}`;
    case 'log':
      return entry.level === 'warn' || entry.level === 'error'
        ? `${entry.replica} says: ${entry.text}`
        : undefined;
    case 'request':
      return requestSentence(entry);
    case 'change':
      return changeSentence(entry);
    case 'seen':
    case 'calm':
      return undefined;
  }
}

function requestSentence(entry: RequestEntry): string | undefined {
  const { replica, verb, resource, name, subresource, code, query, time, sentAt } = entry;
  if (replica === undefined || resource === 'leases') return undefined;
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
  if (!isWrite(entry) && isRead && code < 400 && verb !== 'get') return undefined;
  const body = jsonOf(entry.body);
  const what = name || ((body?.metadata as { name?: string } | undefined)?.name ?? '');
  const dry = query.get('dryRun') === 'All' ? ' (dry run)' : '';
  const note = resource === 'events' ? ` ${(body?.reason as string | undefined) ?? ''}` : '';
  const late = time - sentAt > 100 ? ` (sent ${Math.round(time - sentAt)} ms before)` : '';
  return `${replica} ${verb} ${resource}/${what}${subresource && `/${subresource}`}${note}${dry} → ${code}${late}`;
}

function changeSentence({ change, resource, object, previous, by }: ChangeEntry): string | undefined {
  const { name } = object.metadata;
  const who = by?.replica ?? by?.user.replace(/^system:serviceaccount:kube-system:/, '') ?? 'somebody';
  if (change !== 'MODIFIED') {
    const isTold = resource !== 'events' && resource !== 'leases' && !resource.startsWith('controllerrev');
    return isTold
      ? `  ${resource}/${name} ${change === 'ADDED' ? 'is made' : 'is gone'} (${who})`
      : undefined;
  }
  const [before, after] = [shortState(resource, previous), shortState(resource, object)];
  return before === after ? undefined : `  ${resource}/${name}: ${before} → ${after} (${who})`;
}

function shortState(resource: string, object: KubernetesObject | undefined): string | undefined {
  if (object === undefined) return undefined;
  if (resource === 'pods') return podState(object as Pod);
  const state = stateOf(resource, object);
  if (resource === 'configwatchers') {
    const { pending, appliedHash } = (object as ConfigWatcher).status ?? {};
    return `${state} applied ${appliedHash?.slice(3, 9)} pending ${pending?.hash?.slice(3, 9)} cutoff ${pending?.cutoff?.slice(11)}`;
  }
  if (resource === 'ats') {
    const { attempts = 0, podUID = '' } = (object as At).status ?? {};
    return `${state} attempts ${attempts} ${podUID.slice(0, 4)}`;
  }
  return state;
}

function podState({ metadata, status }: Pod): string {
  const [container] = status?.containerStatuses ?? [];
  const [kind = ''] = Object.keys(container?.state ?? {});
  const ready = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
    ? ' ready'
    : '';
  return `${status?.phase} ${kind}${ready}${metadata.deletionTimestamp === undefined ? '' : ' terminating'}`;
}
