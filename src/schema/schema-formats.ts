/**
 * Schema formats: the `format` values of the CRDs' schemas, as ajv wants them. In a file of their own because
 * the bundle imports them beside checks that were compiled when it was built.
 */

export const formats = {
  int32: { type: 'number', validate: (value: number) => value >= -(2 ** 31) && value < 2 ** 31 },
  int64: { type: 'number', validate: (value: number) => value >= -(2 ** 63) && value < 2 ** 63 },
  'date-time':
    /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
} as const;
