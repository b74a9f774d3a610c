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

/**
 * The first changed source, in the order of the spec. Where the applied content is back, none differs any more: it is the
 * one of the restart that this one overtakes, and else known where there is only one.
 *
 * @param before the restart before this one.
 */
export function triggerOf(
  changed: readonly SourceContent[],
  sources: readonly SourceContent[],
  before: Restart | undefined,
): Restart['trigger'] {
  const first = changed[0];
  if (!first) {
    const overtaken = before?.completion === undefined ? before?.trigger : undefined;
    const [only, ...others] = sources;
    return overtaken ?? (only && others.length === 0 ? sourceOf(only) : undefined);
  }
  const { changedKeys, manager } = first;
  return {
    ...sourceOf(first),
    ...(changedKeys && { changedKeys: summarizeKeys(changedKeys) }),
    ...(manager !== undefined && { manager: manager.slice(0, shownManager) }),
  };
}

function sourceOf({ source: { kind, name } }: SourceContent): NonNullable<Restart['trigger']> {
  return { kind, name };
}
