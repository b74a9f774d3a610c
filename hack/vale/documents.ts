/** The documents whose sentences are checked. */
import { glob } from 'node:fs/promises';

/** api.md and the table of the chart's values hold the descriptions of the CRDs and of the values. */
const patterns = [
  '*.md',
  'docs/**/*.md',
  'charts/*/*.md',
  'examples/*/*.md',
  'headlamp/*.md',
  'local-cluster/*.md',
  'hack/generate/*.md',
  'hack/package/*.md',
];

/** Their paths, from the root of the repository. */
export async function documents(): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const path of glob(patterns)) paths.push(path);
  return paths.sort();
}
