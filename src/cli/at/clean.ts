/** `kubectl at clean --older-than 7d`: deletes Ats that are long over, with their Pods. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { isConflict, isNotFound } from '../../runtime/client/api-error.ts';
import { formatOf, formats, listDocument } from '../output/document.ts';
import { styleOf } from '../output/style.ts';
import { allNamespacesFlag, type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, UsageError } from '../program/exit.ts';
import { sayWhen } from '../time/local.ts';
import { parseLength } from '../time/span.ts';
import { type Session, withSession } from './session.ts';
import { endedAt, isDone, sayOutcome } from './state.ts';

export const cleanCommand: Command = {
  name: 'clean',
  synopsis: '--older-than 7d [-A] [--dry-run]',
  summary: 'Delete the Ats that are over, with their Pods and logs',
  details: ['What waits or runs is never deleted. ttlSecondsAfterFinished in an At does the same by itself.'],
  flags: {
    'older-than': { value: 'SPAN', description: 'how long they must be over, such as 12h, 7d or 0s' },
    'dry-run': { description: 'only say which' },
    ...allNamespacesFlag,
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 0, most: 0 },
  run: (call) => {
    const value = call.value('older-than');
    const age = value === undefined ? undefined : parseLength(value);
    if (age === undefined) {
      const problem = value === undefined ? 'is missing' : `is a length of time, not "${value}"`;
      throw new UsageError(`--older-than ${problem}: say for example kubectl at clean --older-than 7d`);
    }
    formatOf(call.value('output'));
    return withSession(call, (session) => clean(session, age));
  },
};

async function clean(session: Session, age: number): Promise<number> {
  const { call, client } = session;
  const namespace = call.isSet('all-namespaces') ? '' : session.namespace;
  const { items } = await client.list(ats, { namespace, signal: call.host.signal });
  const { now } = session.viewpoint();
  const old = items.filter((at) => isDone(at) && now - (endedAt(at) ?? now) >= age);
  const dryRun = call.isSet('dry-run');
  const format = formatOf(call.value('output'));
  const deleted: At[] = [];
  for (const at of old) {
    call.host.signal.throwIfAborted();
    if (dryRun || (await remove(session, at))) {
      deleted.push(at);
      if (format === undefined) sayDeleted(session, at, dryRun);
    }
  }
  const kept = items.length - deleted.length;
  if (format !== undefined) call.host.output.write(listDocument(deleted, ats, format));
  else session.say(`${count(deleted.length)} ${dryRun ? 'would be deleted' : 'deleted'}, ${kept} kept.`);
  return exitCode.success;
}

function count(number: number): string {
  return number === 1 ? '1 At' : `${number} Ats`;
}

/** Deletes this very At, as it was read. @returns false when it was deleted or edited meanwhile. */
async function remove({ client }: Session, { metadata }: At): Promise<boolean> {
  const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
  try {
    await client.delete(ats, { namespace, name }, { uid, resourceVersion, propagationPolicy: 'Background' });
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

function sayDeleted(session: Session, at: At, dryRun: boolean): void {
  const { output, env } = session.call.host;
  const { namespace, name } = at.metadata;
  const where = session.call.isSet('all-namespaces') ? `${namespace}/` : '';
  const ended = endedAt(at) ?? Number.NaN;
  const line = `at/${where}${name}, ${sayOutcome(at).split(':')[0]}, ${sayWhen(ended, session.viewpoint())}`;
  session.say(styleOf(output, env).faint(`${dryRun ? 'would delete' : 'deleted'} ${line}`));
}
