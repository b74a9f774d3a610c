/** Session: a command's way to the ConfigWatchers of a cluster, whichever of the two groups it serves. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { configWatchers, configWatchersCom } from '../../api/resources.ts';
import { findServed } from '../../runtime/client/discovery.ts';
import { type ObjectSession, withObjects } from '../cluster/session.ts';
import type { Call } from '../program/command.ts';

export type Session = ObjectSession<ConfigWatcher>;

export function withSession(call: Call, use: (session: Session) => Promise<number>): Promise<number> {
  return withObjects(
    call,
    async ({ client }) => {
      if (await findServed(client, configWatchers)) return configWatchers;
      return (await findServed(client, configWatchersCom)) ? configWatchersCom : configWatchers;
    },
    use,
  );
}
