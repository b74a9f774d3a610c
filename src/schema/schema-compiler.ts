/**
 * Schema compiler: an ajv that knows the keywords and formats of Kubernetes. What it makes can be written down
 * as a module that needs no ajv, so its keywords produce code instead of being called.
 */
import { _, Ajv, type KeywordCxt } from 'ajv';
import { formats } from './schema-formats.ts';

/** For the walk over the rules, or for the API server only. */
const withoutEffect = [
  'x-kubernetes-validations',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
];

export function schemaCompiler(): Ajv {
  const ajv = new Ajv({
    strict: true,
    allErrors: true,
    useDefaults: true,
    formats,
    // As a module it has the formats in a variable of this name.
    code: { source: true, esm: true, formats: _`formats` },
  });
  for (const keyword of withoutEffect) {
    ajv.addKeyword(keyword);
  }
  ajv.addKeyword({
    keyword: 'x-kubernetes-list-type',
    type: 'array',
    code: (context: KeywordCxt) => {
      const { data, schema } = context;
      if (schema === 'set') context.fail(_`new Set(${data}).size !== ${data}.length`);
    },
    error: { message: 'must not have duplicate items' },
  });
  ajv.addKeyword({
    keyword: 'x-kubernetes-list-map-keys',
    type: 'array',
    code: (context: KeywordCxt) => {
      const { data, schemaCode: keys } = context;
      const keyOfItem = _`(item) => JSON.stringify(${keys}.map((key) => item?.[key]))`;
      context.fail(_`new Set(${data}.map(${keyOfItem})).size !== ${data}.length`);
    },
    error: { message: 'must not have two items with the same keys' },
  });
  return ajv;
}
