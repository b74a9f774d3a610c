/** Overlays: what people install of config/. Together they use every folder of it. */
import type { Overlay } from '../integration/overlay.ts';

export const overlays: Readonly<Record<string, Overlay>> = {
  default: { resources: ['default'] },
  'high-availability': { resources: ['high-availability'], components: ['prometheus'] },
  namespaced: { resources: ['namespaced'] },
  everything: {
    resources: ['high-availability'],
    components: [
      'prometheus',
      'secure-metrics',
      'secret-access',
      'annotation-controller',
      'reloader-annotations',
      'author-check',
      'k8spatterns-com',
      'annotated-workloads/second-group',
    ],
  },
  renamed: {
    ...{ resources: ['default'], components: ['prometheus', 'secret-access', 'k8spatterns-com'] },
    ...{ namespace: 'team-a', namePrefix: 'blue-', transformers: ['policy/cluster-scoped'] },
  },
};
