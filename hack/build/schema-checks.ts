/**
 * Schema checks for the bundle: the functions of src/schema/schema-checks.ts, compiled now and written down, so
 * that the operator neither carries the compiler nor runs it at each start.
 */
import standaloneCode from 'ajv/dist/standalone/index.js';
import type { Plugin } from 'esbuild';
import { atSchema } from '../../src/api/at.generated.ts';
import { configWatcherSchema } from '../../src/api/configwatcher.generated.ts';
import { schemaCompiler } from '../../src/schema/schema-compiler.ts';

/** By the names under which src/schema/schema-checks.ts exports them. */
const schemas = { checkAtSchema: atSchema, checkConfigWatcherSchema: configWatcherSchema };

/** Puts the functions in the place of the module that compiles them. */
export const compiledSchemaChecks: Plugin = {
  name: 'compiled-schema-checks',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/schema\/schema-checks\.ts$/ }, () => ({ contents: compiledModule() }));
  },
};

function compiledModule(): string {
  const compiler = schemaCompiler();
  for (const [name, schema] of Object.entries(schemas)) compiler.addSchema(schema, name);
  const names = Object.fromEntries(Object.keys(schemas).map((name) => [name, name]));
  return `import { formats } from './schema-formats.ts';\n${standaloneCode.default(compiler, names)}`;
}
