/**
 * Schema checks: whether an object fits its CRD's schema, with the defaults filled in on the way. In the bundle
 * stand the compiled functions instead of this file (hack/build/schema-checks.ts): the compiler and its work
 * cost 15 MB of memory and a third of the start.
 */
import type { ErrorObject } from 'ajv';
import { atSchema } from '../api/at.generated.ts';
import { configWatcherSchema } from '../api/configwatcher.generated.ts';
import { schemaCompiler } from './schema-compiler.ts';

/** Tells whether the object fits and if not, until the next call, why. */
export interface SchemaCheck {
  (object: unknown): boolean;
  errors?: readonly ErrorObject[] | null;
}

export const checkAtSchema: SchemaCheck = schemaCompiler().compile(atSchema);
export const checkConfigWatcherSchema: SchemaCheck = schemaCompiler().compile(configWatcherSchema);
