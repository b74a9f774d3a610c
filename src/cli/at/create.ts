/** `kubectl at WHEN -- COMMAND`: creates an At, and says when it runs. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { formatOf, formats, objectDocument } from '../output/document.ts';
import { styleOf } from '../output/style.ts';
import { type Call, type Command, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode, UsageError } from '../program/exit.ts';
import { sayDistance } from '../time/local.ts';
import { readWhen, type When } from '../time/when.ts';
import { dueLines } from './due-lines.ts';
import { readTemplate, templateFrom } from './from-workload.ts';
import { type Session, withSession } from './session.ts';
import { dueAt } from './state.ts';
import { awaitNotice, submit } from './submit.ts';

export const zoneFlag = {
  tz: {
    value: 'ZONE',
    description: "the zone in which WHEN is meant, such as Europe/Berlin; default this machine's",
    completes: 'zone',
  },
} as const;

export const submitFlags = {
  'dry-run': { description: 'have everything checked, and create nothing' },
  unchecked: { description: 'create it even if its Pod would be refused now' },
} as const;

export const createCommand: Command = {
  name: 'create',
  synopsis: 'WHEN [--from KIND/NAME] [--image IMAGE] [--name NAME] [--tz ZONE] -- COMMAND [ARGUMENT...]',
  summary: 'Run a command once, at a time',
  isHidden: true,
  details: [
    'WHEN is a time as at(1) takes it: now, now+10m, "now + 2 hours", noon, midnight, teatime, 9:00, 9am,',
    '"tomorrow 9:00", "mon 18:30", "2026-12-01 09:00", "dec 1 9am", "9:00 + 2 days", or one of RFC 3339 such as',
    '2026-12-01T09:00:00Z. A time of day without a day is the next one. The command is run as it stands, without a',
    "shell; for one, say sh -c '...'. It stands in status and logs of the cluster, so put no secrets in it.",
  ],
  examples: [
    'kubectl at now+10m -- echo hello',
    'kubectl at "2026-12-01 09:00" --tz Europe/Berlin --name migrate --image example/app:2 -- ./migrate.sh',
    'kubectl at tomorrow 9:00 --from deploy/web -- rake db:migrate',
  ],
  flags: {
    name: { value: 'NAME', description: 'the name of the At; default one made of the command' },
    ...zoneFlag,
    from: {
      value: 'KIND/NAME',
      description: 'run with image, environment, volumes and ServiceAccount of this workload',
      completes: 'workload',
    },
    container: {
      short: 'c',
      value: 'NAME',
      description: 'which container of the workload; default its first',
    },
    image: { value: 'IMAGE', description: "the image; default that of --from's workload, else busybox" },
    retries: {
      value: 'N',
      description: 'how often a command that fails is started again, 0 to 100; default 6',
    },
    ...submitFlags,
    ...outputFlag(...formats),
    ...clusterFlags,
  },
  words: { least: 0, most: 16, completes: 'when' },
  takesRest: true,
  run: (call) => {
    const wanted = readWanted(call);
    return withSession(call, (session) => create(session, wanted));
  },
};

interface Wanted {
  readonly text: string;
  readonly argv: readonly string[];
  readonly zone: string;
  readonly retries: number | undefined;
}

/** Wrong input is told before any cluster is asked. */
function readWanted(call: Call): Wanted {
  const { words, rest = [], host } = call;
  const text = words.join(' ');
  formatOf(call.value('output'));
  const zone = call.value('tz') ?? host.zone;
  const when = readWhen(text, { now: host.clock.now(), zone });
  if (rest.length === 0) throw new UsageError(missingCommand(call, words, zone));
  if (!when.ok) throw new UsageError(when.message);
  return { text, argv: rest, zone, retries: retriesOf(call) };
}

/** What is to be typed where nothing follows `--`. */
function missingCommand({ host, program }: Call, words: readonly string[], zone: string): string {
  const isTime = (count: number) =>
    readWhen(words.slice(0, count).join(' '), { now: host.clock.now(), zone }).ok;
  // The command may be there, without the dashes before it.
  const count = words.findLastIndex((_, index) => isTime(index + 1)) + 1;
  const [when, command] = [words.slice(0, count).join(' '), words.slice(count).join(' ')];
  if (count > 0) return `the command is to follow "--": kubectl at ${when} -- ${command || 'COMMAND'}`;
  const names = program.commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name);
  return `"${words.join(' ')}" is neither a time nor one of ${names.join(', ')}; see kubectl at --help`;
}

function retriesOf(call: Call): number | undefined {
  const value = call.value('retries');
  if (value === undefined) return undefined;
  if (/^\d{1,3}$/.test(value) && Number(value) <= 100) return Number(value);
  throw new UsageError(`--retries is a number from 0 to 100, not "${value}"`);
}

/** @throws {UsageError} for a time that is not understood, or has passed by the operator's time. */
export function whenOf(session: Session, text: string, zone: string): When {
  const when = readWhen(text, { now: session.clock.now(), zone });
  if (!when.ok) throw new UsageError(when.message);
  return when;
}

async function create(session: Session, { text, argv, zone, retries }: Wanted): Promise<number> {
  const { call, client, namespace } = session;
  const from = call.value('from');
  const template =
    from === undefined ? undefined : templateFrom(await readTemplate(session, from), call.value('container'));
  // The first answer tells the API server's time, which is what "now" has to mean.
  if (from === undefined) await client.getRaw('/version');
  const { schedule, timeZone, note } = whenOf(session, text, zone);
  const image = call.value('image');
  const name = call.value('name');
  const at: At = {
    metadata: {
      namespace,
      ...(name === undefined ? { name: '', generateName: `${baseName(argv)}-` } : { name }),
    },
    spec: {
      schedule,
      ...(timeZone !== undefined && { timeZone }),
      argv,
      ...(image !== undefined && { image }),
      ...(retries !== undefined && { backoffLimit: retries }),
      ...(template !== undefined && { template }),
    },
  };
  return submitAndSay(session, at, { zone, note });
}

/** Of the program, as far as it makes a name; the API server adds five characters to it. */
export function baseName([program = '']: readonly string[]): string {
  const file = program.split('/').at(-1) ?? '';
  const name = file
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'at' : name;
}

export interface Told {
  readonly zone: string;
  readonly note: string | undefined;
}

/** Submits the At, and prints what has been asked for: the object, or when it runs. */
export async function submitAndSay(session: Session, at: At, told: Told): Promise<number> {
  const { call } = session;
  const dryRun = call.isSet('dry-run');
  const format = formatOf(call.value('output'));
  const stored = await submit(session, at, { dryRun, unchecked: call.isSet('unchecked') });
  const { name, namespace = '' } = stored.metadata;
  if (format !== undefined) {
    // Of a dry run what can be applied, not what the API server makes of it.
    const shown = dryRun ? { metadata: { name, namespace }, spec: at.spec } : stored;
    call.host.output.write(objectDocument(shown, ats, format));
  } else {
    sayDue(session, stored, told, dryRun);
  }
  if (!dryRun) await awaitNotice(session, stored);
  return exitCode.success;
}

function sayDue(session: Session, at: At, { zone, note }: Told, dryRun: boolean): void {
  const { output, env } = session.call.host;
  const style = styleOf(output, env);
  const view = session.viewpoint();
  const instant = dueAt(at);
  const name = style.strong(`at/${at.metadata.name}`);
  session.say(
    `${name} ${dryRun ? 'would run' : 'runs'} ${instant <= view.now ? 'now' : sayDistance(instant - view.now)}.`,
  );
  for (const line of dueLines(instant, zone, view)) session.say(line);
  if (note !== undefined) session.remark(`Note: ${note}.`);
  if (output.isTerminal && !dryRun) {
    session.say(
      style.faint(`kubectl at logs -f ${at.metadata.name} waits for its output, cancel takes it back.`),
    );
  }
}
