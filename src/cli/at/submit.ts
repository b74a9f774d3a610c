/**
 * Submit: an At is created only after the API server has taken it and its Pod in a dry run, because what is wrong with
 * either is best heard by the person who is still there.
 */
import type { At } from '../../api/at.generated.ts';
import { atPhase } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { isCause } from '../../at/plan/cause.ts';
import { planOf } from '../../at/plan/plan.ts';
import { buildPod } from '../../at/plan/pod.ts';
import { pods } from '../../kubernetes/objects.ts';
import { ApiError, isAlreadyExists } from '../../runtime/client/api-error.ts';
import { firstState, within } from '../cluster/follow.ts';
import { Failure } from '../program/exit.ts';
import type { Session } from './session.ts';

/** How long an operator may take to see a new At before the user is told, ms. */
const noticeLimit = 3000;

export interface SubmitOptions {
  /** Create nothing. */
  readonly dryRun: boolean;
  /** Without the dry run of the Pod. */
  readonly unchecked: boolean;
}

/** @returns the At as it is stored, or would be. @throws {Failure} when it would be refused, or could not run. */
export async function submit(session: Session, at: At, { dryRun, unchecked }: SubmitOptions): Promise<At> {
  const { client } = session;
  const tried = await client
    .create(ats, at, { dryRun: true, fieldValidation: 'Strict' })
    .catch(explainCreate(at));
  const plan = planOf(tried);
  if (isCause(plan)) throw new Failure(`the At cannot be run: ${plan.message}`);
  if (!unchecked) await tryPod(session, tried, plan);
  if (dryRun) return tried;
  // Under the name that was tried; one that the API server makes up would be another one.
  const { generateName: _, ...metadata } = at.metadata;
  return client.create(ats, { ...at, metadata: { ...metadata, name: tried.metadata.name } });
}

async function tryPod(
  session: Session,
  at: At,
  plan: Exclude<ReturnType<typeof planOf>, { reason: string }>,
) {
  try {
    await session.client.create(pods, buildPod(at, plan, 1), { dryRun: true });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code >= 500 || error.code === 429) throw error;
    const { message } = error;
    if (/cannot create resource "pods"/.test(message)) {
      session.remark(
        'You may not create Pods here, so that it was not tried whether this one would be taken.',
      );
      return;
    }
    const name = at.metadata.name;
    const why = isAlreadyExists(error)
      ? `a Pod named ${name}-pod is there already: take another --name`
      : message;
    throw new Failure(
      `nothing was created, because its Pod would be refused: ${why}\n` +
        '(--unchecked creates the At all the same; it then waits until its Pod is taken)',
    );
  }
}

function explainCreate({ metadata }: At) {
  return (error: unknown): never => {
    if (isAlreadyExists(error)) {
      throw new Failure(`there is an At "${metadata.name}" already: take another --name`);
    }
    throw error;
  };
}

/** Says so when no operator takes notice of a new At, which would wait for ever. */
export async function awaitNotice(session: Session, { metadata }: At): Promise<void> {
  const { name, namespace = '' } = metadata;
  const { clock, call } = session;
  const seen = await within({ clock, signal: call.host.signal, limit: noticeLimit }, (signal) =>
    firstState(
      session,
      ats,
      { namespace, name },
      {
        signal,
        found: ({ status }) =>
          (status?.observedGeneration ?? -1) >= 0 || status?.phase !== atPhase.pending ? true : undefined,
      },
    ),
  );
  if (seen instanceof Error) {
    session.remark('No operator has taken notice of it yet. Is one running? kubectl at doctor looks for it.');
  }
}
