/**
 * Fit: a stored value as its schema promises it. A lax CRD, an older version or a user may have stored what the
 * schema does not allow; of such a value the rest counts, as if what does not fit had never been written.
 */

/** As much of an OpenAPI v3 schema as is looked at: types and bounds, not lengths and formats. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

type Fields = Readonly<Record<string, unknown>>;

/** The schema of `status` in that of a kind. */
export function statusSchema(kind: Readonly<Record<string, unknown>>): Schema {
  return (kind as { readonly properties: { readonly status: Schema } }).properties.status;
}

/**
 * What of a value fits a schema: the same value when all of it does, a copy without the rest, undefined when
 * nothing is left.
 */
export function fit<T>(schema: Schema, value: T | undefined): T | undefined;
export function fit(schema: Schema, value: unknown): unknown {
  switch (schema.type) {
    case 'object':
      return isFields(value) ? fitFields(schema, value) : undefined;
    case 'array':
      return Array.isArray(value) ? fitItems(schema, value) : undefined;
    default:
      return isScalar(schema, value) ? value : undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Without the fields that the schema does not know. Nearly all values fit, so that nothing is copied for these. */
function fitFields({ properties = {}, required = [] }: Schema, value: Fields): Fields | undefined {
  const fitted = (field: string) => {
    const schema = Object.hasOwn(properties, field) ? properties[field] : undefined;
    return schema && fit(schema, value[field]);
  };
  const fields = Object.keys(value);
  const whole = fields.every((field) => fitted(field) === value[field])
    ? value
    : Object.fromEntries(
        fields.map((field) => [field, fitted(field)] as const).filter(([, one]) => one !== undefined),
      );
  return required.every((field) => whole[field] !== undefined) ? whole : undefined;
}

function fitItems({ items = {} }: Schema, value: readonly unknown[]): readonly unknown[] {
  return value.every((one) => one !== undefined && fit(items, one) === one)
    ? value
    : value.map((one) => fit(items, one)).filter((one) => one !== undefined);
}

function isScalar({ type, enum: allowed, minimum = Number.NEGATIVE_INFINITY }: Schema, value: unknown) {
  if (type === 'integer') return Number.isSafeInteger(value) && Number(value) >= minimum;
  return typeof value === type && (allowed === undefined || allowed.includes(value));
}
