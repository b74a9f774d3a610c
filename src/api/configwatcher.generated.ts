// Generated from crds/configwatchers.yaml by hack/generate.ts (make generate). Do not edit.
import type { Condition, KubernetesObject } from '../kubernetes/objects.ts';

/** ConfigWatcher restarts Pods when the content of the ConfigMap they use changes. */
export interface ConfigWatcher extends KubernetesObject {
  /** What to watch and which Pods to restart. Everything is in the namespace of the ConfigWatcher. */
  readonly spec: ConfigWatcherSpec;
  /** What was observed. The operator writes it. */
  readonly status?: ConfigWatcherStatus;
}

/** What to watch and which Pods to restart. Everything is in the namespace of the ConfigWatcher. */
export interface ConfigWatcherSpec {
  /** Name of the ConfigMap whose content is watched. Required unless sources is set. */
  readonly configMap?: string;
  /** Labels of the Pods to restart; all must match. It is a plain map and not a LabelSelector. */
  readonly podSelector: Readonly<Record<string, string>>;
  /** Further requirements on the labels of the Pods; all must hold. */
  readonly podSelectorExpressions?: readonly ConfigWatcherSpecPodSelectorExpression[];
  /**
   * Of the selected Pods, restart only those that refer to a watched source in env, envFrom, a volume or a
   * projected volume of any of their containers. Default false.
   */
  readonly onlyReferencing?: boolean;
  /**
   * While true, changes are recorded and nothing is restarted. On resume there is one restart if the content
   * differs from the one the Pods run with. Default false.
   */
  readonly suspend?: boolean;
  /** While true, status and Events say what would be restarted, and nothing is. Default false. */
  readonly dryRun?: boolean;
  /** How Pods are restarted. */
  readonly strategy?: ConfigWatcherSpecStrategy;
  /** Collects edits that follow each other closely and acts on the last. */
  readonly debounce?: ConfigWatcherSpecDebounce;
  /** Shortest time between the starts of two restarts. */
  readonly cooldown?: ConfigWatcherSpecCooldown;
  /** Keys of configMap that count. Unset means all of them. */
  readonly keys?: readonly string[];
  /** Further sources. A change of any of them leads to one joint restart. */
  readonly sources?: readonly ConfigWatcherSpecSource[];
  /** Whether the deletion of a source restarts the Pods. Default Ignore. */
  readonly onDelete?: ConfigWatcherSpecOnDelete;
  /**
   * Times in which restarts may start. Empty means always. A restart that has begun is carried through, also
   * after the end of the window, and the edit that replaces a content which breaks its Pods waits for none.
   */
  readonly windows?: readonly ConfigWatcherSpecWindow[];
}

/** One requirement, as in matchExpressions of a LabelSelector. */
export interface ConfigWatcherSpecPodSelectorExpression {
  /** The label key. */
  readonly key: string;
  /** How the value of the label relates to values. */
  readonly operator: ConfigWatcherSpecPodSelectorExpressionOperator;
  /** The values for In and NotIn. */
  readonly values?: readonly string[];
}

export type ConfigWatcherSpecPodSelectorExpressionOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

/** How Pods are restarted. */
export interface ConfigWatcherSpecStrategy {
  /**
   * Auto takes, owner by owner, the way that keeps the service up: as RolloutRestart where the owner rolls
   * out, each of its Pods is selected and has the older content, and the operator may patch it; as Evict
   * elsewhere, and where the readiness of an owner's several Pods is not checked (a container without a
   * probe, no readiness gate, minReadySeconds below 10), as its rollout would go on over Pods that crash.
   * Evict uses the eviction API and so honors PodDisruptionBudgets. Delete deletes the Pods. RolloutRestart
   * changes one annotation in the template of the owning Deployment, StatefulSet or DaemonSet, so that the
   * owner's own rollout replaces the Pods. Default Auto.
   */
  readonly type?: ConfigWatcherSpecStrategyType;
  /**
   * How many Pods of one owner may be unavailable during a restart: a number, or a percentage of the Pods the
   * owner wants, rounded down but at least one. 100% restarts all at once. Default 25%.
   */
  readonly maxUnavailable?: number | string;
  /** How many owners may be in the middle of a restart at the same time. Default 10. */
  readonly maxOwners?: number;
  /**
   * Whether the first restart of a new content touches one owner alone, the smallest of those that were fully
   * available or, without any, of those that were partly so, and goes on to the others when its new Pods are
   * available. Default true.
   */
  readonly canary?: boolean;
  /**
   * Seconds for which a new Pod must have been Ready to count as available. Unset means what its owner says.
   * The first Pods of a new content count after at least ten seconds without a container restart.
   */
  readonly minReadySeconds?: number;
  /** What to do with Pods that have no controller and so never come back. Default Skip. */
  readonly unmanagedPods?: ConfigWatcherSpecStrategyUnmanagedPods;
  /**
   * What to do with Pods that run to an end, as those of a Job do (restartPolicy Never or OnFailure). Delete
   * takes them all at once, after the canary where there is one: their owner makes others in its own time, so
   * maxUnavailable does not apply. Default Skip.
   */
  readonly jobPods?: ConfigWatcherSpecStrategyJobPods;
  /**
   * Seconds without progress after which a restart is reported as Stalled. It is still retried, slowly.
   * Default 600.
   */
  readonly progressDeadlineSeconds?: number;
}

export type ConfigWatcherSpecStrategyType = 'Auto' | 'Evict' | 'Delete' | 'RolloutRestart';

export type ConfigWatcherSpecStrategyUnmanagedPods = 'Skip' | 'Delete';

export type ConfigWatcherSpecStrategyJobPods = 'Skip' | 'Delete';

/** Collects edits that follow each other closely and acts on the last. */
export interface ConfigWatcherSpecDebounce {
  /**
   * Time without an edit after which the restart begins, such as 2s or 1m30s. 0s begins at once. Default 2s.
   */
  readonly quiet?: string;
  /** Time after the first edit after which the restart begins even when edits go on. Default 30s. */
  readonly max?: string;
}

/** Shortest time between the starts of two restarts. */
export interface ConfigWatcherSpecCooldown {
  /**
   * The first gap. Each restart that had to wait doubles the next gap. 0s switches the cooldown off. Default
   * 30s.
   */
  readonly base?: string;
  /** The longest gap. After so long without a change the gap is base again. Default 10m. */
  readonly max?: string;
}

/** One ConfigMap or Secret. */
export interface ConfigWatcherSpecSource {
  /** ConfigMap or Secret. Secrets can be watched only where the operator is installed with access to them. */
  readonly kind: ConfigWatcherSpecSourceKind;
  /** Name of the object. */
  readonly name: string;
  /** Keys that count. Unset means all of them. */
  readonly keys?: readonly string[];
  /** When true, the absence of the object is a content of its own and no error. Default false. */
  readonly optional?: boolean;
}

export type ConfigWatcherSpecSourceKind = 'ConfigMap' | 'Secret';

export type ConfigWatcherSpecOnDelete = 'Ignore' | 'Restart';

/** A time window that opens by a cron schedule and stays open for a duration. */
export interface ConfigWatcherSpecWindow {
  /**
   * When the window opens: a cron schedule of five fields (minute, hour, day of month, month, day of week)
   * such as 0 3 * * MON-FRI.
   */
  readonly schedule: string;
  /** How long it stays open, such as 2h or 90m. */
  readonly duration: string;
  /** IANA time zone of the schedule. Unset means UTC. */
  readonly timeZone?: string;
}

/** What was observed. The operator writes it. */
export interface ConfigWatcherStatus {
  /** metadata.generation of the spec that was handled last. It is -1 before the first time. */
  readonly observedGeneration?: number;
  /** Hash of the content that the Pods run with. The first content seen is taken as applied. */
  readonly appliedHash?: string;
  /** The hash of each source. */
  readonly sources?: readonly ConfigWatcherStatusSource[];
  /** When the content that was seen last was seen first. The first content of all counts as well. */
  readonly lastChangeTime?: string;
  /** When the last restart was completed. */
  readonly lastRestartTime?: string;
  /** When a source took the place of an immutable one of its name. Absent once no selected Pod is older. */
  readonly immutableReplacedTime?: string;
  /**
   * No further restart starts before this instant. Its distance from the start of the last restart is the
   * current gap.
   */
  readonly cooldownUntil?: string;
  /** How many restarts in a row had to wait for the cooldown. Each of them has doubled the gap. */
  readonly cooldownWaits?: number;
  /** Number of changes for which Pods were restarted. */
  readonly restartCount?: number;
  /** Number of Pods the selector matches. */
  readonly matchedPods?: number;
  /** Number of Pods that run with an older content and are still to be restarted. */
  readonly stalePods?: number;
  /**
   * Number of Pods that run with an older content and are left alone, because no controller would replace
   * them or because they run to an end; as counted for the last change. It is absent when there is none.
   */
  readonly skippedPods?: number;
  /**
   * How Pods are restarted. Evict in place of Auto: the operator may not change the templates of owners here.
   */
  readonly strategyInUse?: string;
  /** A change that was seen and is not applied yet. */
  readonly pending?: ConfigWatcherStatusPending;
  /** The value of the annotation k8spatterns.io/restart-now that was honored last. */
  readonly restartNow?: string;
  /** The last change that was carried through. */
  readonly lastRestart?: ConfigWatcherStatusLastRestart;
  /** The last five changes that were carried through, newest first. */
  readonly history?: readonly ConfigWatcherStatusHistory[];
  /**
   * Ready, SourceAvailable, PodsMatched, Progressing and Stalled. Ready is False only when the spec is
   * invalid, a right is missing or a required source does not exist.
   */
  readonly conditions?: readonly Condition[];
}

/** One source as it was last compared. */
export interface ConfigWatcherStatusSource {
  /** ConfigMap or Secret. */
  readonly kind: string;
  /**
   * Name of the source. One longer than 63 characters, or than 20 where the status has no more room, is cut:
   * the beginning, a tilde and a hash stand for it.
   */
  readonly name: string;
  /** Hash of the list of keys that count. When it changes, the source is taken as it is. */
  readonly keysHash?: string;
  /**
   * Hash of the content that the Pods run with, or its beginning where the status has no more room. It names
   * its scheme: v1 is SHA-256 of the content, which anyone can compute; v1-hmac, for Secrets, has a key that
   * only the operator knows, and the name of that key. A hash of another scheme or key is not compared: the
   * content found then is taken as applied.
   */
  readonly hash?: string;
  /** Hash of the content that is to be applied, where the source was edited, likewise. */
  readonly pendingHash?: string;
}

/** A change that was seen and is not applied yet. */
export interface ConfigWatcherStatusPending {
  /** Hash of the content to be applied. */
  readonly hash: string;
  /** When the change was seen. */
  readonly since: string;
  /** When the restart began. From then on it is carried through. */
  readonly started?: string;
  /** Pods created after this instant run with the new content already. */
  readonly cutoff?: string;
  /** Pods created before this instant run with the applied content. */
  readonly from?: string;
  /** Number of Pods with an older content when the restart began. */
  readonly total?: number;
  /** Whether the new Pods of a first owner have become available, so that others may follow. */
  readonly proven?: boolean;
  /**
   * The label selector of the Pods that the change is owed to. Absent where it is longer than 512 characters,
   * or the status has no more room.
   */
  readonly podSelector?: string;
  /**
   * Number of Pods with an older content that podSelector in spec, edited since, does not select any more.
   * They are not restarted.
   */
  readonly abandonedPods?: number;
  /**
   * How many contents in a row have replaced one whose Pods did not become available. They wait for no window
   * and, up to the third, for no cooldown.
   */
  readonly repairs?: number;
  /** The owners in the middle of a restart. */
  readonly owners?: readonly ConfigWatcherStatusPendingOwner[];
  /** UIDs of the owners whose Pod template was reverted during the restart; they are not changed again. */
  readonly revertedOwners?: readonly string[];
  /** What the change waits for. */
  readonly reason?: ConfigWatcherStatusPendingReason;
}

/** One owner, as it was before its restart. */
export interface ConfigWatcherStatusPendingOwner {
  /** Kind of the owner. */
  readonly kind?: string;
  /** Name of the owner. */
  readonly name?: string;
  /** UID of the owner. */
  readonly uid: string;
  /** How many Pods it wanted, with those beyond that which did not start. */
  readonly wanted: number;
  /** How many of them were available, or have been since, where that is more. */
  readonly available: number;
  /** The restart has changed its Pod template; it does not change it again where that is reverted. */
  readonly templateChanged?: boolean;
}

export type ConfigWatcherStatusPendingReason = 'Debounce' | 'Cooldown' | 'Window' | 'Suspended' | 'DryRun' | 'SourceMissing' | 'InProgress' | 'RolloutInProgress' | 'EvictionBlocked' | 'Stalled';

/** The last change that was carried through. */
export interface ConfigWatcherStatusLastRestart {
  /** Short name of the change. */
  readonly id?: string;
  /** When the restart began. */
  readonly startTime?: string;
  /** When the restart ended. No Pod to restart was left, and the new ones were available. */
  readonly completionTime?: string;
  /** The source whose change led to the restart. */
  readonly trigger?: ConfigWatcherStatusLastRestartTrigger;
  /** Number of Pods restarted. */
  readonly restarted?: number;
  /** Number of Pods left alone because they had started with the new content. */
  readonly skippedFresh?: number;
  /**
   * Number of Pods left alone because no controller would replace them or, of Jobs, because the strategy says
   * so.
   */
  readonly skippedUnmanaged?: number;
  /** Number of owners whose new Pods do not become available. */
  readonly unavailable?: number;
  /** What became of each owner, at most ten, then a count of the others. */
  readonly owners?: readonly ConfigWatcherStatusLastRestartOwner[];
  /** Number of Pods that could not be restarted. */
  readonly failed?: number;
}

/** The source whose change led to the restart. */
export interface ConfigWatcherStatusLastRestartTrigger {
  /** ConfigMap or Secret. */
  readonly kind?: string;
  /** Name of the source. */
  readonly name?: string;
  /** Who edited it, as its managedFields name the manager of the last write of data. */
  readonly manager?: string;
  /**
   * Names of the keys that changed, at most twenty, then a count. Absent for a change made while the operator
   * was down.
   */
  readonly changedKeys?: readonly string[];
}

/** One owner in the restart. */
export interface ConfigWatcherStatusLastRestartOwner {
  /** Kind and name, such as Deployment/webapp, or how many more there are. */
  readonly name: string;
  /** Number of its Pods that have been restarted. */
  readonly restarted?: number;
  /** Number of its Pods that are still to be restarted; absent for none. */
  readonly stale?: number;
  /** Number of its Pods that serve. */
  readonly available?: number;
  /** Available, or what keeps it from being so. */
  readonly reason?: string;
}

/** One change that was carried through. */
export interface ConfigWatcherStatusHistory {
  /** Short name of the change. */
  readonly id?: string;
  /** When the restart began. */
  readonly startTime?: string;
  /** When the restart ended. No Pod to restart was left, and the new ones were available. */
  readonly completionTime?: string;
  /** The source whose change led to the restart. */
  readonly trigger?: ConfigWatcherStatusHistoryTrigger;
  /** Number of Pods restarted. */
  readonly restarted?: number;
  /** Number of Pods left alone because they had started with the new content. */
  readonly skippedFresh?: number;
  /**
   * Number of Pods left alone because no controller would replace them or, of Jobs, because the strategy says
   * so.
   */
  readonly skippedUnmanaged?: number;
  /** Number of Pods that could not be restarted. */
  readonly failed?: number;
}

/** The source whose change led to the restart. */
export interface ConfigWatcherStatusHistoryTrigger {
  /** ConfigMap or Secret. */
  readonly kind?: string;
  /** Name of the source. One longer than 63 characters is cut, with a tilde and a hash. */
  readonly name?: string;
  /** Who edited it, as its managedFields name the manager of the last write of data. */
  readonly manager?: string;
}

/** What the API server fills in where spec says nothing. */
export const configWatcherSpecDefaults = {
  onlyReferencing: false,
  suspend: false,
  dryRun: false,
  strategy: {
    type: 'Auto',
    maxUnavailable: '25%',
    maxOwners: 10,
    canary: true,
    unmanagedPods: 'Skip',
    jobPods: 'Skip',
    progressDeadlineSeconds: 600,
  },
  debounce: { quiet: '2s', max: '30s' },
  cooldown: { base: '30s', max: '10m' },
  onDelete: 'Ignore',
} as const;

/** The openAPIV3Schema of the CRD without descriptions, and without the rules that compare two states. */
export const configWatcherSchema: Readonly<Record<string, unknown>> = {
  type: 'object',
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['podSelector'],
      'x-kubernetes-validations': [
        {
          rule: 'has(self.configMap) || (has(self.sources) && size(self.sources) > 0)',
          message: 'nothing to watch: set configMap or sources',
        },
        {
          rule: "!has(self.configMap) || !has(self.sources) || !self.sources.exists(s, s.kind == 'ConfigMap' && s.name == self.configMap)",
          fieldPath: '.sources',
          message: 'must not name the ConfigMap that configMap names already',
        },
        {
          rule: '!has(self.configMap) || !has(self.sources) || size(self.sources) <= 31',
          fieldPath: '.sources',
          message: 'must have at most 32 items, the one of configMap included',
        },
        {
          rule: '!has(self.keys) || has(self.configMap)',
          fieldPath: '.keys',
          message: 'belongs to configMap; a source has keys of its own',
        },
      ],
      properties: {
        configMap: {
          type: 'string',
          minLength: 1,
          maxLength: 253,
          'x-kubernetes-validations': [
            {
              rule: "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
              message: "must be the name of a ConfigMap (lower-case letters, digits, '-' and '.')",
            },
          ],
        },
        podSelector: {
          type: 'object',
          minProperties: 1,
          maxProperties: 64,
          additionalProperties: { type: 'string', maxLength: 63 },
          'x-kubernetes-validations': [
            {
              rule: "self.all(k, size(k) <= 317 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",
              message: "has a key that is no label key: [prefix/]name of letters, digits, '-', '_' and '.'",
            },
            {
              rule: "self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))",
              message: "has a value that is no label value: at most 63 letters, digits, '-', '_' and '.'",
            },
          ],
        },
        podSelectorExpressions: {
          type: 'array',
          maxItems: 16,
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            required: ['key', 'operator'],
            'x-kubernetes-validations': [
              {
                rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
                fieldPath: '.values',
                message: 'must not be empty with operator In or NotIn',
              },
              {
                rule: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
                fieldPath: '.values',
                message: 'must be empty with operator Exists or DoesNotExist',
              },
            ],
            properties: {
              key: {
                type: 'string',
                maxLength: 317,
                'x-kubernetes-validations': [
                  {
                    rule: "self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",
                    message: "must be a label key: [prefix/]name of letters, digits, '-', '_' and '.'",
                  },
                ],
              },
              operator: {
                type: 'string',
                enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
              },
              values: {
                type: 'array',
                maxItems: 64,
                'x-kubernetes-list-type': 'atomic',
                items: {
                  type: 'string',
                  maxLength: 63,
                  'x-kubernetes-validations': [
                    {
                      rule: "self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",
                      message: "must be a label value: at most 63 letters, digits, '-', '_' and '.'",
                    },
                  ],
                },
              },
            },
          },
        },
        onlyReferencing: { type: 'boolean', default: false },
        suspend: { type: 'boolean', default: false },
        dryRun: { type: 'boolean', default: false },
        strategy: {
          type: 'object',
          default: {},
          properties: {
            type: {
              type: 'string',
              enum: ['Auto', 'Evict', 'Delete', 'RolloutRestart'],
              default: 'Auto',
            },
            maxUnavailable: {
              'x-kubernetes-int-or-string': true,
              anyOf: [{ type: 'integer' }, { type: 'string' }],
              default: '25%',
              'x-kubernetes-validations': [
                {
                  rule: "type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",
                  message: 'must be a number from 1 or a percentage from 1% to 100%',
                },
              ],
            },
            maxOwners: {
              type: 'integer',
              format: 'int32',
              minimum: 1,
              maximum: 50,
              default: 10,
            },
            canary: { type: 'boolean', default: true },
            minReadySeconds: {
              type: 'integer',
              format: 'int32',
              minimum: 0,
              maximum: 2147483647,
            },
            unmanagedPods: { type: 'string', enum: ['Skip', 'Delete'], default: 'Skip' },
            jobPods: { type: 'string', enum: ['Skip', 'Delete'], default: 'Skip' },
            progressDeadlineSeconds: {
              type: 'integer',
              format: 'int32',
              minimum: 1,
              maximum: 2147483647,
              default: 600,
            },
          },
        },
        debounce: {
          type: 'object',
          default: { quiet: '2s', max: '30s' },
          'x-kubernetes-validations': [
            {
              rule: "[self.quiet, self.max].exists(d, !d.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')) || duration(self.quiet) <= duration(self.max)",
              fieldPath: '.quiet',
              message: 'must not be longer than max',
            },
          ],
          properties: {
            quiet: {
              type: 'string',
              maxLength: 16,
              default: '2s',
              'x-kubernetes-validations': [
                {
                  rule: "self.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')",
                  message: 'must be a duration such as 500ms, 2s or 1m30s',
                },
              ],
            },
            max: {
              type: 'string',
              maxLength: 16,
              default: '30s',
              'x-kubernetes-validations': [
                {
                  rule: "self.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')",
                  message: 'must be a duration such as 500ms, 2s or 1m30s',
                },
              ],
            },
          },
        },
        cooldown: {
          type: 'object',
          default: { base: '30s', max: '10m' },
          'x-kubernetes-validations': [
            {
              rule: "[self.base, self.max].exists(d, !d.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')) || duration(self.base) <= duration(self.max)",
              fieldPath: '.base',
              message: 'must not be longer than max',
            },
          ],
          properties: {
            base: {
              type: 'string',
              maxLength: 16,
              default: '30s',
              'x-kubernetes-validations': [
                {
                  rule: "self.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')",
                  message: 'must be a duration such as 500ms, 2s or 1m30s',
                },
              ],
            },
            max: {
              type: 'string',
              maxLength: 16,
              default: '10m',
              'x-kubernetes-validations': [
                {
                  rule: "self.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')",
                  message: 'must be a duration such as 500ms, 2s or 1m30s',
                },
              ],
            },
          },
        },
        keys: {
          type: 'array',
          minItems: 1,
          maxItems: 64,
          'x-kubernetes-list-type': 'set',
          items: {
            type: 'string',
            maxLength: 253,
            'x-kubernetes-validations': [
              {
                rule: "self.matches('^[-._a-zA-Z0-9]+$')",
                message: "must be a key of a ConfigMap (letters, digits, '-', '_' and '.')",
              },
            ],
          },
        },
        sources: {
          type: 'array',
          maxItems: 32,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['kind', 'name'],
          items: {
            type: 'object',
            required: ['kind', 'name'],
            properties: {
              kind: { type: 'string', enum: ['ConfigMap', 'Secret'], maxLength: 9 },
              name: {
                type: 'string',
                minLength: 1,
                maxLength: 253,
                'x-kubernetes-validations': [
                  {
                    rule: "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
                    message: "must be the name of an object (lower-case letters, digits, '-' and '.')",
                  },
                ],
              },
              keys: {
                type: 'array',
                minItems: 1,
                maxItems: 64,
                'x-kubernetes-list-type': 'set',
                items: {
                  type: 'string',
                  maxLength: 253,
                  'x-kubernetes-validations': [
                    {
                      rule: "self.matches('^[-._a-zA-Z0-9]+$')",
                      message: "must be a key (letters, digits, '-', '_' and '.')",
                    },
                  ],
                },
              },
              optional: { type: 'boolean', default: false },
            },
          },
        },
        onDelete: { type: 'string', enum: ['Ignore', 'Restart'], default: 'Ignore' },
        windows: {
          type: 'array',
          maxItems: 16,
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            required: ['schedule', 'duration'],
            properties: {
              schedule: {
                type: 'string',
                maxLength: 128,
                'x-kubernetes-validations': [
                  {
                    rule: "self.matches('^[^ ]+( +[^ ]+){4}$')",
                    message: 'must have the five fields of a cron schedule, such as 0 3 * * MON-FRI',
                  },
                  {
                    rule: "!self.matches('^[^ ]+( +[^ ]+){4}$') || self.lowerAscii().matches('^([*]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?(,([*]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)* ')",
                    message: 'has a bad minute: 0-59, also as a range or a list, and * or a range with a step such as */5',
                  },
                  {
                    rule: "!self.matches('^[^ ]+( +[^ ]+){4}$') || self.lowerAscii().matches('^[^ ]+ +([*]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?(,([*]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)* ')",
                    message: 'has a bad hour: 0-23, also as a range or a list, and * or a range with a step such as */5',
                  },
                  {
                    rule: "!self.matches('^[^ ]+( +[^ ]+){4}$') || self.lowerAscii().matches('^([^ ]+ +){2}([*]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?(,([*]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)* ')",
                    message: 'has a bad day of month: 1-31, also as a range or a list, and * or a range with a step such as */5',
                  },
                  {
                    rule: "!self.matches('^[^ ]+( +[^ ]+){4}$') || self.lowerAscii().matches('^([^ ]+ +){3}([*]|(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))?)(/[1-9][0-9]?)?(,([*]|(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))?)(/[1-9][0-9]?)?)* ')",
                    message: 'has a bad month: 1-12 or JAN-DEC, also as a range or a list, and * or a range with a step such as */5',
                  },
                  {
                    rule: "!self.matches('^[^ ]+( +[^ ]+){4}$') || self.lowerAscii().matches('^([^ ]+ +){4}([*]|([0-7]|sun|mon|tue|wed|thu|fri|sat)(-([0-7]|sun|mon|tue|wed|thu|fri|sat))?)(/[1-9][0-9]?)?(,([*]|([0-7]|sun|mon|tue|wed|thu|fri|sat)(-([0-7]|sun|mon|tue|wed|thu|fri|sat))?)(/[1-9][0-9]?)?)*$')",
                    message: 'has a bad day of week: 0-7 or SUN-SAT, also as a range or a list, and * or a range with a step such as */5',
                  },
                ],
              },
              duration: {
                type: 'string',
                maxLength: 16,
                'x-kubernetes-validations': [
                  {
                    rule: "self.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$')",
                    message: 'must be a duration such as 90m or 2h',
                  },
                  {
                    rule: "!self.matches('^(0|([0-9]{1,6}([.][0-9]{1,6})?(ns|us|ms|s|m|h))+)$') || duration(self) > duration('0s')",
                    message: 'must be longer than zero',
                  },
                ],
              },
              timeZone: { type: 'string', minLength: 1, maxLength: 64 },
            },
          },
        },
      },
    },
    status: {
      type: 'object',
      default: { observedGeneration: -1 },
      properties: {
        observedGeneration: { type: 'integer', format: 'int64' },
        appliedHash: { type: 'string', maxLength: 128 },
        sources: {
          type: 'array',
          maxItems: 32,
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            required: ['kind', 'name'],
            properties: {
              kind: { type: 'string', maxLength: 9 },
              name: { type: 'string', maxLength: 253 },
              keysHash: { type: 'string', maxLength: 128 },
              hash: { type: 'string', maxLength: 128 },
              pendingHash: { type: 'string', maxLength: 128 },
            },
          },
        },
        lastChangeTime: { type: 'string', format: 'date-time' },
        lastRestartTime: { type: 'string', format: 'date-time' },
        immutableReplacedTime: { type: 'string', format: 'date-time' },
        cooldownUntil: { type: 'string', format: 'date-time' },
        cooldownWaits: { type: 'integer', format: 'int32', minimum: 0 },
        restartCount: { type: 'integer', format: 'int64', minimum: 0 },
        matchedPods: { type: 'integer', format: 'int32', minimum: 0 },
        stalePods: { type: 'integer', format: 'int32', minimum: 0 },
        skippedPods: { type: 'integer', format: 'int32', minimum: 0 },
        strategyInUse: { type: 'string', maxLength: 32 },
        pending: {
          type: 'object',
          required: ['hash', 'since'],
          properties: {
            hash: { type: 'string', maxLength: 128 },
            since: { type: 'string', format: 'date-time' },
            started: { type: 'string', format: 'date-time' },
            cutoff: { type: 'string', format: 'date-time' },
            from: { type: 'string', format: 'date-time' },
            total: { type: 'integer', format: 'int32', minimum: 0 },
            proven: { type: 'boolean' },
            podSelector: { type: 'string', maxLength: 512 },
            abandonedPods: { type: 'integer', format: 'int32', minimum: 0 },
            repairs: { type: 'integer', format: 'int32', minimum: 0 },
            owners: {
              type: 'array',
              'x-kubernetes-list-type': 'atomic',
              maxItems: 50,
              items: {
                type: 'object',
                required: ['uid', 'wanted', 'available'],
                properties: {
                  kind: { type: 'string', maxLength: 63 },
                  name: { type: 'string', maxLength: 253 },
                  uid: { type: 'string', maxLength: 36 },
                  wanted: { type: 'integer', format: 'int32', minimum: 0 },
                  available: { type: 'integer', format: 'int32', minimum: 0 },
                  templateChanged: { type: 'boolean' },
                },
              },
            },
            revertedOwners: {
              type: 'array',
              'x-kubernetes-list-type': 'set',
              maxItems: 20,
              items: { type: 'string', maxLength: 36 },
            },
            reason: {
              type: 'string',
              enum: [
                'Debounce',
                'Cooldown',
                'Window',
                'Suspended',
                'DryRun',
                'SourceMissing',
                'InProgress',
                'RolloutInProgress',
                'EvictionBlocked',
                'Stalled',
              ],
            },
          },
        },
        restartNow: { type: 'string', maxLength: 128 },
        lastRestart: {
          type: 'object',
          properties: {
            id: { type: 'string', maxLength: 64 },
            startTime: { type: 'string', format: 'date-time' },
            completionTime: { type: 'string', format: 'date-time' },
            trigger: {
              type: 'object',
              properties: {
                kind: { type: 'string', maxLength: 9 },
                name: { type: 'string', maxLength: 253 },
                manager: { type: 'string', maxLength: 64 },
                changedKeys: {
                  type: 'array',
                  maxItems: 21,
                  'x-kubernetes-list-type': 'atomic',
                  items: { type: 'string', maxLength: 253 },
                },
              },
            },
            restarted: { type: 'integer', format: 'int32', minimum: 0 },
            skippedFresh: { type: 'integer', format: 'int32', minimum: 0 },
            skippedUnmanaged: { type: 'integer', format: 'int32', minimum: 0 },
            unavailable: { type: 'integer', format: 'int32', minimum: 0 },
            owners: {
              type: 'array',
              'x-kubernetes-list-type': 'atomic',
              maxItems: 11,
              items: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string', maxLength: 128 },
                  restarted: { type: 'integer', format: 'int32', minimum: 0 },
                  stale: { type: 'integer', format: 'int32', minimum: 0 },
                  available: { type: 'integer', format: 'int32', minimum: 0 },
                  reason: { type: 'string', maxLength: 64 },
                },
              },
            },
            failed: { type: 'integer', format: 'int32', minimum: 0 },
          },
        },
        history: {
          type: 'array',
          maxItems: 5,
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            properties: {
              id: { type: 'string', maxLength: 64 },
              startTime: { type: 'string', format: 'date-time' },
              completionTime: { type: 'string', format: 'date-time' },
              trigger: {
                type: 'object',
                properties: {
                  kind: { type: 'string', maxLength: 9 },
                  name: { type: 'string', maxLength: 253 },
                  manager: { type: 'string', maxLength: 64 },
                },
              },
              restarted: { type: 'integer', format: 'int32', minimum: 0 },
              skippedFresh: { type: 'integer', format: 'int32', minimum: 0 },
              skippedUnmanaged: { type: 'integer', format: 'int32', minimum: 0 },
              failed: { type: 'integer', format: 'int32', minimum: 0 },
            },
          },
        },
        conditions: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
          items: {
            type: 'object',
            required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
            properties: {
              type: { type: 'string', maxLength: 316 },
              status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
              reason: { type: 'string', minLength: 1, maxLength: 1024 },
              message: { type: 'string', maxLength: 32768 },
              lastTransitionTime: { type: 'string', format: 'date-time' },
              observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
            },
          },
        },
      },
    },
  },
};
