/** Source kinds: the kinds of objects whose content a watcher compares. What sets one apart stands in its row. */
import type { ConfigWatcherSpecSourceKind } from '../../api/configwatcher.generated.ts';
import { type ConfigMap, configMaps, type Resource } from '../../kubernetes/objects.ts';
import { type Secret, secrets } from '../../kubernetes/types/core.generated.ts';

export const sourceKinds: Readonly<
  Record<
    ConfigWatcherSpecSourceKind,
    {
      readonly resource: Resource<ConfigMap | Secret>;
      /** Of the values in `data`. */
      readonly encoding: 'utf8' | 'base64';
      /** Its values could be guessed from a plain hash: it needs a key, and rights that an operator may not have. */
      readonly isConfidential: boolean;
    }
  >
> = {
  ConfigMap: { resource: configMaps, encoding: 'utf8', isConfidential: false },
  Secret: { resource: secrets, encoding: 'base64', isConfidential: true },
};

export function isSourceKind(kind: string): kind is ConfigWatcherSpecSourceKind {
  return Object.hasOwn(sourceKinds, kind);
}
