/**
 * Prints the CRD of ConfigWatcher's second API group: the book's examples moved from k8spatterns.io to
 * k8spatterns.com, and users of either keep their manifests. The two CRDs differ in the group alone.
 */
import type { Crd } from '../../src/scaffold/crd.ts';

export const secondGroup = 'k8spatterns.com';

/** The whole text of crds/com/configwatchers.yaml. */
export function printSecondGroup(crd: Crd): string {
  const body = crd.text.replace(/^(#.*\n)+/, '');
  const renamed = body
    .replace(`name: ${crd.plural}.${crd.group}`, `name: ${crd.plural}.${secondGroup}`)
    .replace(`group: ${crd.group}`, `group: ${secondGroup}`);
  return `# Generated from ${crd.path} by hack/generate.ts (make generate). Do not edit.\n${renamed}`;
}
