/** Documented rights: what docs/security.md says in its tables, in the form of rights-audit.ts. */
import { readFile } from 'node:fs/promises';

const words = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

/**
 * Each as `verb group/resource`, sorted.
 *
 * @param options `always`: only those that config/default grants, without the components. `without`: components that
 *   are left out.
 */
export async function documentedRights(
  options: { readonly always?: boolean; readonly without?: readonly string[] } = {},
): Promise<string[]> {
  const { always = false, without = [] } = options;
  const rows = (await readFile('docs/security.md', 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((row) => row.split('|').slice(1, -1));
  // group, resources, verbs, why; in the second table after the component that grants it.
  const rights = rows
    .filter((cells) => !always || cells.length === 4)
    .filter(([component]) => !words(component).some((name) => without.includes(name)))
    .flatMap((cells) => {
      const [groups, resources, verbs] = cells.slice(-4);
      const group = words(groups)[0] ?? '';
      return words(resources).flatMap((resource) =>
        words(verbs).map((verb) => `${verb} ${group}/${resource}`),
      );
    });
  return [...new Set(rights)].sort();
}

/**
 * The lines of `kubectl auth can-i --list --no-headers`, each as `verb group/resource`, of one name only with
 * ` NAME`; sorted. URLs that are no resources are left out: everybody may ask what there is.
 */
export function listedRights(list: string): string[] {
  const rights = list.split('\n').flatMap((line) => {
    const [, resource = '', names = '', verbs = ''] =
      /^(\S+)\s+\[.*?\]\s+\[(.*?)\]\s+\[(.*?)\]$/.exec(line) ?? [];
    // pods, ats.example.com, ats.example.com/status
    const [, plural = '', group = '', subresource = ''] = /^([^./]+)\.?([^/]*)(.*)$/.exec(resource) ?? [];
    const targets = names === '' ? [''] : names.split(' ').map((name) => ` ${name}`);
    return verbs
      .split(' ')
      .filter(Boolean)
      .flatMap((verb) => targets.map((name) => `${verb} ${group}/${plural}${subresource}${name}`));
  });
  return [...new Set(rights)].sort();
}
