/** New operator: a copy of the template, the operator of the kind Note, under the names of another kind. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { capitalized, crdsIn, uncapitalized } from './crd.ts';
import { constantOf, printKinds } from './types.ts';

export interface NewOperatorOptions {
  /** Must not exist, or be empty. */
  readonly folder: string;
  readonly group: string;
  /** Default: after the folder's name. */
  readonly kind?: string;
}

/** The names of a kind in which a template and a copy of it differ. */
export interface KindNames {
  readonly kind: string;
  readonly plural: string;
  readonly group: string;
}

const packageName = '@atwatch/runtime';
const template: KindNames = { kind: 'Note', plural: 'notes', group: 'example.com' };

/** @throws {Error} with one sentence, for names that Kubernetes does not take, or a folder that is not empty. */
export async function newOperator({ folder, group, ...options }: NewOperatorOptions): Promise<KindNames> {
  const kind = options.kind ?? kindOf(basename(resolve(folder)));
  const names = namesOf(kind, group);
  if (existsSync(folder) && (await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`);
  const files: Record<string, string> = JSON.parse(
    await readFile(join(import.meta.dirname, 'template.json'), 'utf8'),
  );
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, renamed(text, names));
  }
  const crd = 'crd.yaml';
  const types = printKinds([crd], crdsIn(crd, await readFile(join(folder, crd), 'utf8')));
  await writeFile(join(folder, 'types.generated.ts'), types);
  const packed = await ownFile();
  if (packed !== undefined) await bringAlong(folder, packed);
  await setDependency(folder, packed === undefined ? `^${await ownVersion()}` : `file:${basename(packed)}`);
  return names;
}

/** `notes` → `Note`, `blog-posts` → `BlogPost`. */
export function kindOf(folder: string): string {
  const words = folder
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => !['', 'operator', 'controller'].includes(word));
  const kind = words.map(capitalized).join('');
  return kind.length > 1 ? kind.replace(/ies$/, 'y').replace(/([^s])s$/, '$1') : kind;
}

/** @throws {Error} for names that Kubernetes does not take. */
export function namesOf(kind: string, group: string): KindNames {
  if (!/^[A-Z][A-Za-z0-9]{0,50}$/.test(kind)) {
    throw new Error(`"${kind}" cannot be a kind: give one that begins with a capital letter, by --kind`);
  }
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(group)) {
    throw new Error(`"${group}" cannot be an API group: it is a DNS name with a dot, such as example.com`);
  }
  const lower = kind.toLowerCase();
  if (/[^aeiou]y$/.test(lower)) return { kind, group, plural: lower.replace(/y$/, 'ies') };
  return { kind, group, plural: /(s|x|ch|sh)$/.test(lower) ? `${lower}es` : `${lower}s` };
}

/** A text of the template with other names: in code as TypeScript writes them, elsewhere as Kubernetes does. */
export function renamed(text: string, { kind, plural, group }: KindNames): string {
  const isCode = /^import /m.test(text);
  const collection = constantOf(kind, plural);
  return text
    .replace(/\bnotes(?=-|\.example\.com)/g, plural)
    .replaceAll(template.group, group)
    .replace(/\bnotes\b/g, isCode ? collection : plural)
    .replace(/\bnote\b(-?)/g, (_, dash: string) =>
      isCode && dash === '' ? uncapitalized(kind) : kind.toLowerCase() + dash,
    )
    .replaceAll(template.kind, kind);
}

async function ownVersion(): Promise<string> {
  const own = JSON.parse(await readFile(join(import.meta.dirname, 'package.json'), 'utf8'));
  return own.version;
}

/** The packed file that this package was installed from; undefined when that was a registry. */
async function ownFile(): Promise<string | undefined> {
  const modules = resolve(import.meta.dirname, '../..');
  const lock = join(modules, '.package-lock.json');
  if (!existsSync(lock)) return;
  const { packages } = JSON.parse(await readFile(lock, 'utf8'));
  const origin: unknown = packages[`node_modules/${packageName}`]?.resolved;
  if (typeof origin !== 'string' || !origin.startsWith('file:')) return;
  return resolve(modules, '..', origin.slice('file:'.length));
}

/** An image is built from one folder alone, so that a packed file must be in it, and copied before `npm ci`. */
async function bringAlong(folder: string, packed: string): Promise<void> {
  await copyFile(packed, join(folder, basename(packed)));
  const dockerfile = join(folder, 'Dockerfile');
  const text = await readFile(dockerfile, 'utf8');
  await writeFile(dockerfile, text.replace(/(?<=^COPY .*package-lock\.json )/m, `${basename(packed)} `));
}

async function setDependency(folder: string, origin: string): Promise<void> {
  const path = join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  manifest.dependencies[packageName] = origin;
  await writeFile(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
}
