// Generated from crds/ats.yaml by hack/generate.ts (make generate). Do not edit.
import type { Condition, KubernetesObject } from '../kubernetes/objects.ts';

/** At runs one command, once, at one instant, in a Pod. */
export interface At extends KubernetesObject {
  /**
   * What to run and when. Immutable while RUNNING, except cancel, suspend and ttlSecondsAfterFinished; later
   * edits change nothing about the run.
   */
  readonly spec: AtSpec;
  /** What was observed. The operator writes it. */
  readonly status?: AtStatus;
}

/**
 * What to run and when. Immutable while RUNNING, except cancel, suspend and ttlSecondsAfterFinished; later
 * edits change nothing about the run.
 */
export interface AtSpec {
  /**
   * The instant at which the command runs, as an RFC 3339 timestamp such as 2030-01-31T09:00:00Z or
   * 2030-01-31T09:00:00.250+02:00. Seconds are required, T and Z are upper case, up to nine digits may follow
   * a decimal point; a fraction finer than a millisecond is rounded up. Without Z or an offset it is a local
   * time and timeZone must be set. An instant in the past is due at once.
   */
  readonly schedule: string;
  /**
   * IANA time zone such as Europe/Berlin in which a schedule without an offset is read. A local time that a
   * clock change skips moves forward; of one that happens twice the first counts.
   */
  readonly timeZone?: string;
  /**
   * The command, split into words by the quoting rules of a POSIX shell (quotes and backslash) but run
   * without a shell: operators such as | or && need the field shell. Kubernetes expands $(VAR) in it. It must
   * not be set together with argv. It may be absent when template names what to run.
   */
  readonly command?: string;
  /**
   * The command as an exact list of program and arguments: nothing is split, expanded or unescaped. It must
   * not be set together with command or shell.
   */
  readonly argv?: readonly string[];
  /**
   * Absolute path of a shell in the image, such as /bin/sh. When set, the Pod runs it with -c and the whole
   * of command as one argument.
   */
  readonly shell?: string;
  /**
   * Image of the main container. Wins over the template's; when neither names one, it is the operator's
   * default, which is busybox unless it was started with --at-default-image.
   */
  readonly image?: string;
  /**
   * Pod template, as in a Job, for what the other fields cannot say. Its first container is the main one;
   * command, argv and image of this spec win over it. Name, namespace, the label app, ownerReferences,
   * restartPolicy, finalizers and nodeName of the Pod are not taken from here; containers with a
   * restartPolicy of their own are refused, init containers excepted.
   */
  readonly template?: AtSpecTemplate;
  /**
   * Seconds after the schedule during which the command may still start. Later than that it is not run and
   * the outcome is Missed. Unset means the operator's default, which is no limit unless it was started with
   * one.
   */
  readonly startingDeadlineSeconds?: number;
  /**
   * While true, nothing is started. On resume an At whose instant has passed is due at once. It has no effect
   * after the launch. Default false.
   */
  readonly suspend?: boolean;
  /**
   * Set to true to end the At for good. Before the launch nothing runs; after it the running command is
   * stopped. Once the operator has seen it, setting it back to false has no effect. Default false.
   */
  readonly cancel?: boolean;
  /**
   * Seconds the command may run, counted from its first start. After that it is stopped and has failed. Unset
   * means no limit.
   */
  readonly activeDeadlineSeconds?: number;
  /**
   * Seconds the Pod may wait from its creation to the first start of its main container. After that the At
   * has failed with the reason the Pod waited for, such as ImagePullBackOff or Unschedulable. The time in
   * which an init container runs does not count, but the time between two of its runs does. 0 means no limit.
   * Default 900.
   */
  readonly pendingTimeoutSeconds?: number;
  /**
   * How often a failed container is started again before the At has failed; the failures of init containers
   * and of containers beside the main one count, too, as in a Job. 0 is a hard limit of one start; with a
   * higher value the kubelet may have begun one start more by the time it is stopped. Default 6.
   */
  readonly backoffLimit?: number;
  /**
   * What happens when the Pod is lost through no fault of the command (eviction, deletion, loss of its node).
   * Fail ends the At. Retry runs the command again in a new Pod, ten Pods in all; from the third Pod on at
   * the earliest 10 s after the one before it was created, doubling to six minutes. Default Fail.
   */
  readonly disruptionPolicy?: AtSpecDisruptionPolicy;
  /**
   * AtLeastOnce creates the Pod until it is known to exist. It creates a second one unasked only when a user
   * deletes the first, and the operator died before it recorded the launch, or a create arrives after that
   * which a stale replica sent or which was repeated after a missing answer. ExactlyOnce closes both windows:
   * the Pod is created with a scheduling gate, recorded in status, and only then released to a node; a
   * finalizer keeps it until its result is recorded. It costs two small patches and a start two writes later.
   * The kubelet still starts a failed command again in that Pod: one start needs backoffLimit 0, too.
   * AtMostOnce is a deprecated name of ExactlyOnce. Default AtLeastOnce.
   */
  readonly launchGuarantee?: AtSpecLaunchGuarantee;
  /**
   * Whether status.message contains the end of a failed command's output. Unset means what the operator was
   * started with, which is true by default. It never stands in Events or logs.
   */
  readonly outputInStatus?: boolean;
  /**
   * Seconds after which a finished At is deleted together with its Pod. Unset means the operator's default,
   * which is never unless it was started with one.
   */
  readonly ttlSecondsAfterFinished?: number;
}

/**
 * Pod template, as in a Job, for what the other fields cannot say. Its first container is the main one;
 * command, argv and image of this spec win over it. Name, namespace, the label app, ownerReferences,
 * restartPolicy, finalizers and nodeName of the Pod are not taken from here; containers with a restartPolicy
 * of their own are refused, init containers excepted.
 */
export interface AtSpecTemplate {
  /** Labels and annotations of the Pod. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** PodSpec of the Pod. It is checked by a dry run of the Pod before the command is due. */
  readonly spec?: AtSpecTemplateSpec;
}

/** PodSpec of the Pod. It is checked by a dry run of the Pod before the command is due. */
export interface AtSpecTemplateSpec {
  /**
   * Follows from backoffLimit: Never where that is 0, also if OnFailure is set here, else OnFailure. Always
   * is refused, and so is Never with a backoffLimit above 0.
   */
  readonly restartPolicy?: string;
  /**
   * The first one is the main container, named busybox unless it has a name. The run ends with it: once it
   * has ended for good the others are stopped, and the outcome is that of the main one.
   */
  readonly containers?: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

export type AtSpecDisruptionPolicy = 'Fail' | 'Retry';

export type AtSpecLaunchGuarantee = 'AtLeastOnce' | 'ExactlyOnce' | 'AtMostOnce';

/** What was observed. The operator writes it. */
export interface AtStatus {
  /** PENDING until the Pod exists, then RUNNING, then DONE. Never goes back. Default PENDING. */
  readonly phase?: AtStatusPhase;
  /** How it ended. Set only with phase DONE. */
  readonly outcome?: AtStatusOutcome;
  /** Why the At is in its state, one CamelCase word for machines. */
  readonly reason?: string;
  /** The reason in words. Where a command failed it is the end of its output. */
  readonly message?: string;
  /** metadata.generation of the spec that was handled last. It is -1 before the first time. */
  readonly observedGeneration?: number;
  /** The schedule, resolved to UTC. */
  readonly scheduledTime?: string;
  /** Name of the current Pod. */
  readonly podName?: string;
  /**
   * UID of the current Pod. Once set, the command is known to have been launched; under ExactlyOnce, this Pod
   * alone may run it.
   */
  readonly podUID?: string;
  /** Number of Pods created so far. There is more than one only under disruptionPolicy Retry. */
  readonly attempts?: number;
  /**
   * When the current Pod had been created, under ExactlyOnce released to a node; with milliseconds, by the
   * API server's clock.
   */
  readonly launchTime?: string;
  /** When the command of the latest attempt started for the first time. */
  readonly startTime?: string;
  /** When the command ended, or when the At was found to be done without it. */
  readonly completionTime?: string;
  /** Milliseconds from scheduledTime to launchTime. */
  readonly latenessMilliseconds?: number;
  /**
   * Seconds by which the operator created the Pod late: counted from the schedule, or from the creation, the
   * last edit or the resume of the At where that is later. Absent when it was not late, and when the API
   * server did not take the Pod meanwhile.
   */
  readonly operatorDelaySeconds?: number;
  /** Exit code of the command's last run. */
  readonly exitCode?: number;
  /** How often the command was started again, over all attempts. */
  readonly restarts?: number;
  /** The attempts that ended, once one was lost through no fault of the command. */
  readonly history?: readonly AtStatusHistory[];
  /**
   * What the operator was started with for fields that the spec leaves open, as far as it applied. It holds
   * from then on: an operator that is started with other defaults changes nothing about it.
   */
  readonly operatorDefaults?: AtStatusOperatorDefaults;
  /**
   * Accepted, PodAdmitted, Ready, Launched, Complete, Failed, Suspended and Stalled. Ready is False, and
   * Stalled True, when the spec cannot be run or the command failed or was missed.
   */
  readonly conditions?: readonly Condition[];
}

export type AtStatusPhase = 'PENDING' | 'RUNNING' | 'DONE';

export type AtStatusOutcome = 'Succeeded' | 'Failed' | 'Missed' | 'Canceled';

/** One attempt. */
export interface AtStatusHistory {
  /** Its number, from 1. */
  readonly attempt: number;
  /** Name of its Pod. */
  readonly podName: string;
  /** UID of its Pod. */
  readonly podUID: string;
  /** When its Pod had been created. */
  readonly launchTime: string;
  /** When the command started for the first time. */
  readonly startTime?: string;
  /** When it ended, or was found to be lost. */
  readonly completionTime: string;
  /** Why it ended. */
  readonly reason: string;
  /** Exit code of the command's last run. */
  readonly exitCode?: number;
  /** How often the command was started again in it. */
  readonly restarts: number;
}

/**
 * What the operator was started with for fields that the spec leaves open, as far as it applied. It holds
 * from then on: an operator that is started with other defaults changes nothing about it.
 */
export interface AtStatusOperatorDefaults {
  /** The image that the Pod was created with. */
  readonly image?: string;
  /** The deadline that the At has missed. */
  readonly startingDeadlineSeconds?: number;
  /** Seconds after the end at which the At is deleted. */
  readonly ttlSecondsAfterFinished?: number;
  /** False, because the output of the command was left out. */
  readonly outputInStatus?: boolean;
}

/** What the API server fills in where spec says nothing. */
export const atSpecDefaults = {
  suspend: false,
  cancel: false,
  pendingTimeoutSeconds: 900,
  backoffLimit: 6,
  disruptionPolicy: 'Fail',
  launchGuarantee: 'AtLeastOnce',
} as const;

/** The openAPIV3Schema of the CRD without descriptions, and without the rules that compare two states. */
export const atSchema: Readonly<Record<string, unknown>> = {
  type: 'object',
  required: ['spec'],
  'x-kubernetes-validations': [
    {
      rule: 'oldSelf.hasValue() || size(self.metadata.name) <= 63',
      optionalOldSelf: true,
      message: "metadata.name must not be longer than 63 characters, because it becomes the value of the Pod's label app",
    },
  ],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['schedule'],
      'x-kubernetes-validations': [
        {
          rule: "has(self.timeZone) || !self.schedule.matches('T..:..:..([.][0-9]+)?$')",
          fieldPath: '.schedule',
          message: 'has no UTC offset: append Z or an offset such as +02:00, or set timeZone',
        },
        {
          rule: "!has(self.timeZone) || !self.schedule.matches('(Z|[+-][0-9]{2}:[0-9]{2})$')",
          fieldPath: '.timeZone',
          message: 'must not be set when schedule has a UTC offset (Z or ±hh:mm)',
        },
        {
          rule: 'has(self.command) || has(self.argv) || (has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && size(self.template.spec.containers) > 0)',
          message: 'nothing to run: set command, argv, or a template with a container',
        },
        {
          rule: "!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Always'",
          fieldPath: '.template.spec.restartPolicy',
          message: 'must not be Always: the command would never end',
        },
        {
          rule: "!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Never' || self.backoffLimit == 0",
          fieldPath: '.template.spec.restartPolicy',
          message: 'Never starts the command once and needs backoffLimit: 0; a higher backoffLimit starts a failed command again',
        },
        {
          rule: '!has(self.argv) || !has(self.command)',
          fieldPath: '.argv',
          message: 'must not be set together with command',
        },
        {
          rule: '!has(self.argv) || !has(self.shell)',
          fieldPath: '.argv',
          message: 'must not be set together with shell',
        },
        {
          rule: '!has(self.shell) || has(self.command) || has(self.argv)',
          fieldPath: '.shell',
          message: 'needs command, the text for the shell',
        },
      ],
      properties: {
        schedule: {
          type: 'string',
          maxLength: 64,
          'x-kubernetes-validations': [
            {
              rule: "self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?$')",
              message: 'must be an RFC 3339 timestamp such as 2030-01-31T09:00:00Z or 2030-01-31T09:00:00+02:00',
            },
            {
              rule: "!self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T') || self.matches('^....-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))') || self.matches('^(..(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29')",
              message: 'names a day that does not exist in the calendar',
            },
            {
              rule: "!self.matches('^0000-')",
              message: 'must lie in the years 0001 to 9999, also when converted to UTC',
            },
            {
              rule: "!self.matches('^0001-01-01T..:..:.*[+]..:..$') || self.substring(11, 16) >= self.substring(size(self) - 5)",
              message: 'must lie in the years 0001 to 9999, also when converted to UTC',
            },
            {
              rule: "!self.matches('^9999-12-31T[0-9]{2}:[0-9]{2}:[^-]*-[0-9]{2}:[0-9]{2}$') || int(self.substring(11, 13)) * 60 + int(self.substring(14, 16)) + int(self.substring(size(self) - 5, size(self) - 3)) * 60 + int(self.substring(size(self) - 2)) < 1440",
              message: 'must lie in the years 0001 to 9999, also when converted to UTC',
            },
          ],
        },
        timeZone: {
          type: 'string',
          minLength: 1,
          maxLength: 64,
          'x-kubernetes-validations': [
            {
              rule: "self.matches('^[A-Za-z][A-Za-z0-9_+/-]*$') && self != 'Local'",
              message: 'must be the name of an IANA time zone such as Europe/Berlin',
            },
            {
              rule: "!self.matches('^[A-Za-z][A-Za-z0-9_+/-]*$') || timestamp('2000-01-01T00:00:00Z').getFullYear(self) > 0",
              message: 'must be the name of an IANA time zone such as Europe/Berlin',
            },
          ],
        },
        command: {
          type: 'string',
          minLength: 1,
          maxLength: 32768,
          'x-kubernetes-validations': [
            {
              rule: "self.matches('[^ \\t\\n]')",
              message: 'must name a program',
            },
          ],
        },
        argv: {
          type: 'array',
          minItems: 1,
          maxItems: 256,
          'x-kubernetes-list-type': 'atomic',
          'x-kubernetes-validations': [
            {
              rule: "self[0].matches('[^ \\t\\n]')",
              message: 'must begin with the name of a program',
            },
          ],
          items: { type: 'string', maxLength: 131072 },
        },
        shell: {
          type: 'string',
          maxLength: 4096,
          'x-kubernetes-validations': [
            {
              rule: "self.matches('^/')",
              message: 'must be an absolute path such as /bin/sh',
            },
          ],
        },
        image: { type: 'string', minLength: 1, maxLength: 1024 },
        template: {
          type: 'object',
          properties: {
            metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            spec: {
              type: 'object',
              'x-kubernetes-preserve-unknown-fields': true,
              properties: {
                restartPolicy: { type: 'string', maxLength: 64 },
                containers: {
                  type: 'array',
                  maxItems: 256,
                  'x-kubernetes-list-type': 'atomic',
                  items: {
                    type: 'object',
                    'x-kubernetes-preserve-unknown-fields': true,
                  },
                },
              },
            },
          },
        },
        startingDeadlineSeconds: { type: 'integer', format: 'int64', minimum: 1 },
        suspend: { type: 'boolean', default: false },
        cancel: { type: 'boolean', default: false },
        activeDeadlineSeconds: { type: 'integer', format: 'int64', minimum: 1, maximum: 1000000000 },
        pendingTimeoutSeconds: {
          type: 'integer',
          format: 'int64',
          minimum: 0,
          maximum: 1000000000,
          default: 900,
        },
        backoffLimit: {
          type: 'integer',
          format: 'int32',
          minimum: 0,
          maximum: 100,
          default: 6,
        },
        disruptionPolicy: { type: 'string', enum: ['Fail', 'Retry'], default: 'Fail' },
        launchGuarantee: {
          type: 'string',
          enum: ['AtLeastOnce', 'ExactlyOnce', 'AtMostOnce'],
          default: 'AtLeastOnce',
        },
        outputInStatus: { type: 'boolean' },
        ttlSecondsAfterFinished: { type: 'integer', format: 'int32', minimum: 0, maximum: 2147483647 },
      },
    },
    status: {
      type: 'object',
      default: { phase: 'PENDING', observedGeneration: -1 },
      properties: {
        phase: {
          type: 'string',
          enum: ['PENDING', 'RUNNING', 'DONE'],
          default: 'PENDING',
        },
        outcome: { type: 'string', enum: ['Succeeded', 'Failed', 'Missed', 'Canceled'] },
        reason: { type: 'string', maxLength: 128 },
        message: { type: 'string', maxLength: 1024 },
        observedGeneration: { type: 'integer', format: 'int64' },
        scheduledTime: { type: 'string', format: 'date-time' },
        podName: { type: 'string', maxLength: 253 },
        podUID: { type: 'string', maxLength: 64 },
        attempts: { type: 'integer', format: 'int32', minimum: 0 },
        launchTime: { type: 'string', format: 'date-time' },
        startTime: { type: 'string', format: 'date-time' },
        completionTime: { type: 'string', format: 'date-time' },
        latenessMilliseconds: { type: 'integer', format: 'int64', minimum: 0 },
        operatorDelaySeconds: { type: 'integer', format: 'int64', minimum: 1 },
        exitCode: { type: 'integer', format: 'int32' },
        restarts: { type: 'integer', format: 'int32', minimum: 0 },
        history: {
          type: 'array',
          maxItems: 10,
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            required: [
              'attempt',
              'podName',
              'podUID',
              'launchTime',
              'completionTime',
              'reason',
              'restarts',
            ],
            properties: {
              attempt: { type: 'integer', format: 'int32', minimum: 1 },
              podName: { type: 'string', maxLength: 253 },
              podUID: { type: 'string', maxLength: 64 },
              launchTime: { type: 'string', format: 'date-time' },
              startTime: { type: 'string', format: 'date-time' },
              completionTime: { type: 'string', format: 'date-time' },
              reason: { type: 'string', maxLength: 128 },
              exitCode: { type: 'integer', format: 'int32' },
              restarts: { type: 'integer', format: 'int32', minimum: 0 },
            },
          },
        },
        operatorDefaults: {
          type: 'object',
          properties: {
            image: { type: 'string', maxLength: 1024 },
            startingDeadlineSeconds: { type: 'integer', format: 'int64', minimum: 1 },
            ttlSecondsAfterFinished: { type: 'integer', format: 'int32', minimum: 0 },
            outputInStatus: { type: 'boolean' },
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
