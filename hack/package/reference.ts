/** The reference of the package: each exported name with its doc comment and declaration, from the declarations. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const entries = { '@atwatch/runtime': 'runtime', '@atwatch/runtime/testing': 'testing' };

/** @param folder of the package, with its declarations. */
export async function printReference(folder: string): Promise<string> {
  const parts = [
    '# Reference',
    'Every exported name, from the declarations. [The guide](runtime.md) says how they work together.',
    'The modules `@atwatch/runtime/types/<group>` have the types of Kubernetes itself, and for each kind a constant that says where its objects live, such as `deployments` of `@atwatch/runtime/types/apps`. A version of a group that is not the preferred one has a module of its own, such as `autoscaling-v1`.',
  ];
  for (const [module, entry] of Object.entries(entries)) {
    parts.push(`## ${module}`);
    const path = join(folder, 'declarations/src', `${entry}.d.ts`);
    for (const { name, file } of await exportsOf(path)) {
      const declared = declarationOf(await readFile(file, 'utf8'), name);
      if (declared === undefined) throw new Error(`${file} does not declare ${name}`);
      parts.push(
        `### ${name}`,
        ...(declared.doc ? [declared.doc] : []),
        `\`\`\`ts\n${declared.code}\n\`\`\``,
      );
    }
  }
  return `${parts.join('\n\n')}\n`;
}

/** Sorted by name. */
export async function exportsOf(entry: string): Promise<{ readonly name: string; readonly file: string }[]> {
  const text = await readFile(entry, 'utf8');
  const found = Array.from(text.matchAll(/export (?:type )?\{([^}]+)\} from ['"]([^'"]+)['"]/g));
  return found
    .flatMap(([, names = '', module = '']) =>
      names.split(',').map((name) => ({
        name: name.trim().replace(/^type /, ''),
        file: join(dirname(entry), module.replace(/\.js$/, '.d.ts')),
      })),
    )
    .filter(({ name }) => name !== '')
    .sort((one, other) => one.name.localeCompare(other.name, 'en'));
}

/** A declaration without its doc comment, which comes as text. Of overloads all. */
export function declarationOf(
  text: string,
  name: string,
): { readonly doc: string; readonly code: string } | undefined {
  const head = `export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|const|function) ${name}\\b`;
  // What starts at the beginning of a line and goes on until one begins with something else than space or a bracket.
  const declaration = new RegExp(
    `(?:/\\*\\*((?:(?!\\*/)[^])*)\\*/\\n)?(${head}[^\\n]*(?:\\n(?:[ }\\])>|][^\\n]*|(?=\\n)))*)`,
    'g',
  );
  const found = [...text.matchAll(declaration)];
  if (found.length === 0) return undefined;
  const code = found.map(([, , lines = '']) => lines).join('\n');
  const doc = found.map(([, comment = '']) => comment).join('\n');
  return { doc: proseOf(doc), code: withoutPrivate(code) };
}

function proseOf(comment: string): string {
  return comment
    .replace(/^[ \t]*\* ?/gm, '')
    .replace(/\{@link ([^}]+)\}/g, '`$1`')
    .replace(/(^|\n| )@(param|throws) /g, '\n\n*$2* ')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function withoutPrivate(code: string): string {
  return code
    .replace(/^ {4}#private;\n/gm, '')
    .replace(/^ {4}private [^\n]*\n/gm, '')
    .trim();
}
