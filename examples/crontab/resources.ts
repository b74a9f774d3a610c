/** The kinds this operator deals with: its own CronTab, and of At the fields that it fills. */
import type { Condition, KubernetesObject, Resource } from '@atwatch/runtime';

export interface CronTab extends KubernetesObject {
  readonly spec: {
    /** A cron expression in UTC; with six fields the first is the seconds. */
    readonly cronSpec: string;
    readonly image: string;
    /** Ats for each firing. Default 1. */
    readonly replicas?: number;
  };
  readonly status?: CronTabStatus;
}

export interface CronTabStatus {
  /** The cron expression that `handledUntil` is about. */
  readonly cronSpec: string;
  /** All firings up to this instant (RFC 3339) have their Ats, or never get them. */
  readonly handledUntil: string;
  readonly conditions: readonly Condition[];
}

export interface At extends KubernetesObject {
  readonly spec: {
    readonly schedule: string;
    readonly template: object;
    readonly ttlSecondsAfterFinished: number;
  };
}

export const cronTabs: Resource<CronTab> = {
  group: 'stable.example.com',
  version: 'v1',
  plural: 'crontabs',
  kind: 'CronTab',
  namespaced: true,
};

export const ats: Resource<At> = {
  group: 'cnat.programming-kubernetes.info',
  version: 'v1alpha1',
  plural: 'ats',
  kind: 'At',
  namespaced: true,
};
