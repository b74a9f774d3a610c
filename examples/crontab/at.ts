/** The At of atwatch, as far as this operator fills it. */
import type { KubernetesObject, Resource } from '@atwatch/runtime';

export interface At extends KubernetesObject {
  readonly spec: {
    readonly schedule: string;
    readonly template: object;
    readonly ttlSecondsAfterFinished: number;
  };
}

export const ats: Resource<At> = {
  ...{ group: 'cnat.programming-kubernetes.info', version: 'v1alpha1', namespaced: true },
  ...{ plural: 'ats', kind: 'At' },
};
