/** `kubectl at rerun NAME [WHEN]`: the same command once more, as an At of its own. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { formatOf, formats } from '../output/document.ts';
import { type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { Failure } from '../program/exit.ts';
import { submitAndSay, submitFlags, whenOf, zoneFlag } from './create.ts';
import { checkedZone } from './edit.ts';
import { type Session, withSession } from './session.ts';
import { isWaiting } from './state.ts';

/** The API server's limit for an At, which its Pod's label sets. */
const nameLimit = 63;

export const rerunCommand: Command = {
  name: 'rerun',
  synopsis: 'NAME [WHEN] [--tz ZONE] [--name NAME]',
  summary: 'Run the same command once more, now or at another time, as a new At',
  details: [
    'The new At is called NAME-2, NAME-3, ..., unless --name says otherwise. The old one stays as it is.',
  ],
  examples: ['kubectl at rerun migrate', 'kubectl at rerun migrate tomorrow 9:00'],
  flags: {
    name: { value: 'NAME', description: 'the name of the new At' },
    ...zoneFlag,
    ...submitFlags,
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 1, most: 16, completes: 'object' },
  run: (call) => {
    const [name = '', ...words] = call.words;
    const text = words.join(' ') || 'now';
    formatOf(call.value('output'));
    const zone = checkedZone(call, text);
    return withSession(call, async (session) => {
      const at = await session.get(name);
      if (isWaiting(at) && words.length === 0) {
        throw new Failure(`${name} has not run yet: kubectl at move ${name} now runs it at once`);
      }
      return rerun(session, at, text, zone ?? at.spec.timeZone ?? call.host.zone);
    });
  },
};

async function rerun(session: Session, at: At, text: string, zone: string): Promise<number> {
  const { client, call } = session;
  const { namespace = '', labels } = at.metadata;
  const { schedule, timeZone, note } = whenOf(session, text, zone);
  const { items } = await client.list(ats, { namespace, metadataOnly: true });
  const taken = new Set(items.map(({ metadata }) => metadata.name));
  const name = call.value('name') ?? nextName(at.metadata.name, taken);
  const copy: At = {
    metadata: { namespace, name, ...(labels !== undefined && { labels }) },
    spec: { ...terms(at), schedule, ...(timeZone !== undefined && { timeZone }) },
  };
  return submitAndSay(session, copy, { zone, note });
}

/** What was asked for, but when, and whether it was held back. */
function terms({ spec }: At): At['spec'] {
  const { timeZone: _, cancel: __, suspend: ___, ...rest } = spec;
  return rest;
}

/** `backup` → `backup-2`, `backup-2` → `backup-3`: the next that is free. */
export function nextName(name: string, taken: ReadonlySet<string>): string {
  const base = name.replace(/-[1-9]\d?$/, '');
  for (let number = 2; ; number++) {
    const suffix = `-${number}`;
    const next = base.slice(0, nameLimit - suffix.length).replace(/[-.]+$/, '') + suffix;
    if (!taken.has(next)) return next;
  }
}
