/** Last edit: when the spec of an At was written last. Nothing that was impossible until then is late. */
import type { At } from '../../api/at.generated.ts';
import { parseTime } from '../../kubernetes/time.ts';

/** An At as decisions have it; the cache keeps no managedFields. */
export interface ReadAt extends At {
  /**
   * Epoch ms: the second in which the spec was edited last, as managedFields tell. Absent where it never was, and where
   * they do not tell: a field that another manager removes leaves no trace. Later than the edit where the same manager has
   * written a label since: so what counts from it is never too long.
   */
  readonly editedAt?: number;
}

export function withLastEdit(at: At): ReadAt {
  const { generation = 1, managedFields = [] } = at.metadata;
  // Of thousands that wait, most were never edited.
  if (generation === 1) return at;
  const times = managedFields
    .filter(({ fieldsV1 = {}, subresource = '' }) => subresource === '' && 'f:spec' in fieldsV1)
    .map(({ time = '' }) => parseTime(time))
    .filter((time) => !Number.isNaN(time));
  return times.length === 0 ? at : { ...at, editedAt: Math.max(...times) };
}
