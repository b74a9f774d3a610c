/** Sanitize: an At as its types promise it, whatever was stored. */
import { type At, type AtSpec, atSchema } from '../../api/at.generated.ts';
import { fit, statusSchema } from '../../kubernetes/fit.ts';
import { isJson } from './template.ts';

const schema = statusSchema(atSchema);

/** The same object when nothing is wrong with it. A spec that is none is an empty one, which planOf refuses. */
export function sanitize(at: At): At {
  const spec = isJson(at.spec) ? at.spec : ({} as AtSpec);
  const status = fit(schema, at.status);
  if (spec === at.spec && status === at.status) return at;
  const { status: _, ...rest } = at;
  return { ...rest, spec, ...(status && { status }) };
}
