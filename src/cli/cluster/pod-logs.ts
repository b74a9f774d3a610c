/** Pod logs: the output of a container, its end or as it comes. */
import { pods } from '../../kubernetes/objects.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { SubresourceClient } from '../../runtime/client/subresource-client.ts';
import type { Cluster } from './cluster.ts';

export interface LogSource {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The last lines of a log are never more than this. */
const limitBytes = 256 * 1024;

/** The last lines, the newest last. */
export async function lastLines(
  { client }: Pick<Cluster, 'client'>,
  { container, ...source }: LogSource,
  count: number,
): Promise<readonly string[]> {
  const query = { container, tailLines: count, limitBytes };
  const text = await logOf(client, source).text({ query });
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

export interface FollowedLog extends LogSource {
  /** False: what there is, and the end. */
  readonly follow: boolean;
  readonly tailLines: number | undefined;
  /** Of the last line that was seen, so that none comes twice; undefined for all of them. */
  readonly after: string | undefined;
}

export interface LogLine {
  /** RFC 3339 with nanoseconds. */
  readonly time: string;
  /** With its line end, but for the last one of a log that does not end with one. */
  readonly text: string;
}

/** Lines until the container ends, or until the signal. */
export async function* logLines(
  { client }: Pick<Cluster, 'client'>,
  { follow, tailLines, after, container, ...source }: FollowedLog,
  signal: AbortSignal,
): AsyncGenerator<LogLine, void> {
  const query = {
    container,
    follow: follow || undefined,
    timestamps: true,
    tailLines,
    sinceTime: after,
  };
  for await (const line of linesOf(await logOf(client, source).stream({ query, signal }))) {
    const end = line.indexOf(' ');
    const [time, text] = [line.slice(0, end), line.slice(end + 1)];
    // sinceTime counts whole seconds.
    if (after === undefined || isLater(time, after)) yield { time, text };
  }
}

function logOf(client: Client, { namespace, pod }: Omit<LogSource, 'container'>): SubresourceClient<object> {
  return client.subresource<object>(pods, { namespace, name: pod }, 'log');
}

async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield `${line}\n`;
  }
  if (rest !== '') yield rest;
}

/** The kubelet leaves out zeros at the end of a fraction, so that the texts do not compare as they are. */
function isLater(time: string, than: string): boolean {
  const comparable = (text: string) => {
    const [seconds = '', fraction = ''] = text.replace('Z', '').split('.');
    return `${seconds}.${fraction.padEnd(9, '0')}`;
  };
  return comparable(time) > comparable(than);
}
