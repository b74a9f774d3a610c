/**
 * Declarations of the package: what tsc writes for its entries, as far as they reach, with the types of other packages
 * named where an installation of this package has them.
 */
import { execFile } from 'node:child_process';
import { cp, glob, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { typeModules } from './manifest.ts';

const importedFile = /(from |import\(|import )(['"])([^'"]+)\2/g;

/** Into the folder `declarations`. */
export async function writeDeclarations(folder: string): Promise<void> {
  await promisify(execFile)('node_modules/.bin/tsc', ['-p', 'hack/package/declarations.tsconfig.json']);
  const root = join(folder, 'declarations');
  const kubeConfig = join(root, 'kube-config.d.ts');
  await cp('hack/package/kube-config.d.ts', kubeConfig);
  const entries = [
    'src/runtime.d.ts',
    'src/testing.d.ts',
    ...(await typeModules()).map((name) => `src/kubernetes/types/${name}.generated.d.ts`),
  ];
  const reached = new Set([kubeConfig]);
  for (const entry of entries) await reach(join(root, entry), kubeConfig, reached);
  for await (const path of glob(`${root}/**/*.d.ts`)) if (!reached.has(path)) await rm(path);
}

async function reach(path: string, kubeConfig: string, reached: Set<string>): Promise<void> {
  if (reached.has(path)) return;
  reached.add(path);
  const next: string[] = [];
  const before = await readFile(path, 'utf8');
  const text = before.replace(importedFile, (_, keyword: string, quote: string, module: string) => {
    const named = (name: string) => `${keyword}${quote}${name}${quote}`;
    if (module === 'undici') return named('undici-types');
    if (module === '@kubernetes/client-node') return named(relativeModule(path, kubeConfig));
    if (!module.startsWith('.')) return named(module);
    const file = join(dirname(path), module.replace(/\.(ts|js)$/, '.d.ts'));
    next.push(file);
    return named(relativeModule(path, file));
  });
  if (text !== before) await writeFile(path, text);
  for (const file of next) await reach(file, kubeConfig, reached);
}

function relativeModule(from: string, to: string): string {
  const path = relative(dirname(from), to).replace(/\.d\.ts$/, '.js');
  return path.startsWith('.') ? path : `./${path}`;
}
