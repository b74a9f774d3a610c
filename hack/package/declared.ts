/** Declarations in the text of a `.d.ts` file, as tsc prints them: one export, with its doc comment. Pure. */

export type Form = 'class' | 'const' | 'function' | 'interface' | 'type';

export interface Declared {
  readonly form: Form;
  /** The doc comment as Markdown. */
  readonly doc: string;
  /** The declaration, of overloads all of them, without what only the class itself reaches. */
  readonly code: string;
  /** Types that it names: the module that each is imported from, or undefined for one of the same file. */
  readonly uses: ReadonlyMap<string, string | undefined>;
}

/** Of what a file exports of another one. */
export interface Exported {
  readonly name: string;
  /** True: the name is a type to its users, also where it is a class; they cannot construct it. */
  readonly isType: boolean;
  /** As the file writes it. */
  readonly module: string;
}

const comment = String.raw`/\*\*(?:(?!\*/)[^])*\*/`;
/** What can hide a bracket, and brackets. */
const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`[^`]*`|[{}()[\];]/g;

/** In the order of the file. */
export function exportsIn(text: string): Exported[] {
  const statements = text.matchAll(/export (type )?\{([^}]+)\} from ['"]([^'"]+)['"]/g);
  return Array.from(statements).flatMap(([, all, names = '', module = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => {
        const isType = all !== undefined || name.startsWith('type ');
        return { name: name.replace(/^type /, ''), isType, module };
      }),
  );
}

/** Undefined when the text does not declare the name. */
export function declarationOf(
  text: string,
  { name, isType }: Omit<Exported, 'module'>,
): Declared | undefined {
  const head = new RegExp(
    `(?:(${comment})\\n)?(export (?:declare )?(?:abstract )?(class|const|function|interface|type) ${name}\\b)`,
    'g',
  );
  const parts = Array.from(text.matchAll(head), (match) => {
    const [whole, doc = '', start = '', form] = match as unknown as [string, string?, string?, Form?];
    const from = match.index + whole.length - start.length;
    const code = text.slice(from, endOf(text, from, form === 'class' || form === 'interface'));
    return { form: form as Form, doc: proseOf(doc), code };
  });
  const [first] = parts;
  if (first === undefined) return;
  const docs = parts.map(({ doc }) => doc).filter((doc) => doc !== '');
  const code = parts.map((part) => publicPart(part.code, isType)).join('\n');
  return { form: first.form, doc: docs.join('\n\n'), code, uses: usesIn(text, code, name) };
}

/** Of the file's own types and of those that it imports, which the code names. */
function usesIn(text: string, code: string, self: string): ReadonlyMap<string, string | undefined> {
  const known = new Map<string, string | undefined>();
  for (const [, name = ''] of text.matchAll(
    /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type) (\w+)/gm,
  )) {
    known.set(name, undefined);
  }
  for (const [, names = '', module] of text.matchAll(
    /^import (?:type )?\{([^}]+)\} from ['"]([^'"]+)['"]/gm,
  )) {
    for (const name of names.split(',')) known.set(name.trim().replace(/^type /, ''), module);
  }
  const bare = code.replace(token, (found) => (found.length === 1 ? found : ' '));
  const named = new Set(Array.from(bare.matchAll(/\b[A-Z]\w*/g), ([name]) => name));
  return new Map([...known].filter(([name]) => named.has(name) && name !== self));
}

/** Where a declaration ends: at its closing brace, or at the semicolon outside of all brackets. */
function endOf(text: string, from: number, endsWithBrace: boolean): number {
  let depth = 0;
  token.lastIndex = from;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    if ('{(['.includes(found)) depth++;
    else if ('})]'.includes(found)) {
      depth--;
      if (depth === 0 && endsWithBrace && found === '}') return token.lastIndex;
    } else if (found === ';' && depth === 0) return token.lastIndex;
  }
  throw new Error(`no end: ${text.slice(from, from + 80)}`);
}

/** Doc comments of members stay; links in them become plain names. */
function publicPart(code: string, isType: boolean): string {
  const hidden = isType ? 'private |#private|constructor\\(' : 'private |#private';
  return code
    .replace(/^export (?:declare )?/, '')
    .replace(
      new RegExp(
        `^ {4}(?:${comment}\\n {4})?(?:${hidden})[^\\n]*(?:\\n {5,}[^\\n]*|\\n {4}\\}[^\\n]*)*\\n`,
        'gm',
      ),
      '',
    )
    .replace(/\{@link\s+([^}]+)\}/g, '$1')
    .replace(/ +$/gm, '')
    .trim();
}

function proseOf(doc: string): string {
  return doc
    .replace(/^\/\*\*|\*\/$/g, '')
    .replace(/^[ \t]*\* ?/gm, '')
    .replace(/(?:^|\n| )@throws \{(\w+)\} /g, '\n\nThrows {@link $1} ')
    .replace(/(?:^|\n| )@throws /g, '\n\nThrows: ')
    .replace(/(?:^|\n| )@returns /g, '\n\nReturns ')
    .replace(/(?:^|\n| )@param (\w+) /g, '\n\n`$1`: ')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
