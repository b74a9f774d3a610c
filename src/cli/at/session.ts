/** Session: a command's way to the Ats of a cluster. */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { type ObjectSession, withObjects } from '../cluster/session.ts';
import type { Call } from '../program/command.ts';

export type Session = ObjectSession<At>;

export function withSession(call: Call, use: (session: Session) => Promise<number>): Promise<number> {
  return withObjects(call, () => ats, use);
}
