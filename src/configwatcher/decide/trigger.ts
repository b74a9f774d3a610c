/**
 * Trigger: what a restart says it was started by. Names of objects and keys only, and not too many of them.
 */
import type { SourceContent } from '../facts/observed.ts';
import type { Restart } from '../facts/state.ts';

/** At most so many names of keys, and so many bytes of them together, stand in status. */
const shownKeys = 20;
const shownBytes = 1024;
/** Characters of the name of a field manager. */
const shownManager = 64;

/** As many of the names as status has room for; the rest are counted. */
export function summarizeKeys(keys: readonly string[]): string[] {
  let bytes = 0;
  const shown = keys.slice(0, shownKeys).filter((key) => {
    bytes += Buffer.byteLength(key);
    return bytes <= shownBytes;
  });
  return shown.length < keys.length ? [...shown, `+${keys.length - shown.length}`] : shown;
}

/** The first changed source, in the order of the spec. */
export function triggerOf(
  changed: readonly SourceContent[],
  before: Restart | undefined,
): Restart['trigger'] {
  const first = changed[0];
  // Back to the applied content during the restart: nothing differs any more, the cause is the one before.
  if (!first) return before?.trigger;
  const { kind, name } = first.source;
  const { changedKeys, manager } = first;
  return {
    ...{ kind, name },
    ...(changedKeys && { changedKeys: summarizeKeys(changedKeys) }),
    ...(manager !== undefined && { manager: manager.slice(0, shownManager) }),
  };
}
