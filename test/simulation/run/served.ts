/** What the API servers of a run serve: Kubernetes' own resources, and our two kinds by their CRDs. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { clusterResources } from '../../../src/testing/api-server/cluster-resources.ts';
import { type Definition, resourcesOf } from '../../../src/testing/api-server/custom/definitions.ts';
import type { ServedResource } from '../../../src/testing/api-server/served-resource.ts';

const definitions = ['ats', 'configwatchers'].map(
  (name): Definition => parse(readFileSync(new URL(`../../../crds/${name}.yaml`, import.meta.url), 'utf8')),
);

export const servedResources: readonly ServedResource[] = [
  ...clusterResources,
  ...definitions.flatMap(resourcesOf),
];
