/**
 * Plan: everything that is decided about a run before it begins, as plain JSON: what there is, who does what when,
 * and what goes wrong. The order in which the machinery does its work is decided by the seed as it runs. So a part
 * of a plan can be left out, and the rest still makes sense.
 */

/** A replica's clock. */
export interface ClockPlan {
  /** Ms that the wall clock is ahead; negative: behind. */
  readonly skew: number;
  /** How much faster it runs, as in 0.0001. */
  readonly drift: number;
}

/** What a user does, with `at` in ms since the start. */
export type Deed =
  | {
      readonly at: number;
      readonly do: 'create';
      readonly resource: string;
      readonly name: string;
      readonly object: object;
      /** Absent: an administrator. */
      readonly by?: string;
    }
  /** A JSON merge patch. */
  | {
      readonly at: number;
      readonly do: 'patch';
      readonly resource: string;
      readonly name: string;
      readonly subresource?: string;
      readonly body: object;
    }
  | {
      readonly at: number;
      readonly do: 'delete';
      readonly resource: string;
      readonly name: string;
      readonly grace?: number;
      readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
    }
  /** Of the Pods with that label, the one that is the so many-th by name. */
  | {
      readonly at: number;
      readonly do: 'pod';
      readonly label: readonly [string, string];
      readonly index: number;
      readonly what: 'delete' | 'force-delete' | 'evict' | 'strip-owner' | 'strip-finalizers' | 'strip-label';
    };

export type Creation = Deed & { readonly do: 'create' };

/** What goes wrong. One that lasts has `for`, in ms. */
export type FaultPlan =
  | { readonly at: number; readonly fault: 'kill'; readonly replica: number; readonly for: number }
  | { readonly at: number; readonly fault: 'terminate'; readonly replica: number; readonly for: number }
  | { readonly at: number; readonly fault: 'sigstop'; readonly replica: number; readonly for: number }
  | { readonly at: number; readonly fault: 'suspend'; readonly replica: number; readonly for: number }
  | { readonly at: number; readonly fault: 'clock-step'; readonly replica: number; readonly by: number }
  | {
      readonly at: number;
      readonly fault: 'partition';
      readonly replica: number;
      readonly direction: 'out' | 'in' | 'both';
      readonly for: number;
    }
  | { readonly at: number; readonly fault: 'reset' | 'half-open'; readonly replica: number }
  /** Each request of the replica is hit with that probability. */
  | {
      readonly at: number;
      readonly fault: 'bad-network';
      readonly replica: number;
      readonly kind: 'requestLost' | 'answerLost' | 'cut' | 'drip' | 'delay' | 'page';
      readonly rate: number;
      readonly for: number;
    }
  /** A replica is killed at its so many-th write of a kind from then on, and comes back after `for`. */
  | {
      readonly at: number;
      readonly fault: 'kill-at-write';
      readonly replica: number;
      readonly method: string;
      readonly path: string;
      readonly skip: number;
      readonly when: 'before' | 'after-commit' | 'after-reply';
      readonly for: number;
    }
  /** The so many-th write of a kind from then on meets that. */
  | {
      readonly at: number;
      readonly fault: 'write-meets';
      readonly method: string;
      readonly path: string;
      readonly skip: number;
      readonly times: number;
      readonly answer:
        | 403
        | 409
        | 422
        | 429
        | 500
        | 503
        | 504
        | 'hang'
        | 'hang-committed'
        | 'cut-before'
        | 'cut-after';
    }
  /** The so many-th request of a kind from then on is so many ms on its way. */
  | {
      readonly at: number;
      readonly fault: 'send-meets';
      readonly method: string;
      readonly path: string;
      readonly skip: number;
      readonly late: number;
    }
  /** Another fault strikes so many ms after an object is in that state of the coverage table, the next time from then on. */
  | {
      readonly at: number;
      readonly fault: 'aimed';
      readonly on: string;
      readonly after: number;
      readonly strike: FaultPlan;
    }
  /** All requests that match are answered so. */
  | {
      readonly at: number;
      readonly fault: 'refuse';
      /** Empty: every one. */
      readonly method: string;
      readonly path: string;
      readonly code: 403 | 422 | 429 | 500 | 503;
      readonly message: string;
      readonly for: number;
    }
  /** A quota of the namespace has room for so many more Pods. */
  | { readonly at: number; readonly fault: 'pod-quota'; readonly room: number; readonly for: number }
  /** The namespace enforces the Pod Security Standard restricted. */
  | { readonly at: number; readonly fault: 'restricted'; readonly for: number }
  /** Each API server works on so many writes of replicas at a time, each for so many ms, and turns the others away. */
  | {
      readonly at: number;
      readonly fault: 'seats';
      readonly count: number;
      readonly duration: number;
      readonly for: number;
    }
  /** The next watch of a resource opens so. */
  | {
      readonly at: number;
      readonly fault: 'watch-meets';
      readonly resource: string;
      readonly times: number;
      readonly what: 'mute' | 'malformed' | '410' | '429' | '500' | 'in-stream-410';
    }
  /** The watch cache of an instance follows no more, or late. */
  | { readonly at: number; readonly fault: 'stale-cache'; readonly server: number; readonly for: number }
  | {
      readonly at: number;
      readonly fault: 'slow-cache';
      readonly server: number;
      readonly lag: number;
      readonly for: number;
    }
  | { readonly at: number; readonly fault: 'server-down'; readonly server: number; readonly for: number }
  | { readonly at: number; readonly fault: 'compact' }
  | { readonly at: number; readonly fault: 'close-watches' }
  | { readonly at: number; readonly fault: 'lease-deleted' | 'lease-stolen' }
  | {
      readonly at: number;
      readonly fault: 'crd-removed';
      readonly resource: 'ats' | 'configwatchers';
      readonly for: number;
    }
  | {
      readonly at: number;
      readonly fault: 'node-clock';
      readonly node: number;
      readonly skew: number;
      readonly for: number;
    }
  | {
      readonly at: number;
      readonly fault: 'node-off';
      readonly node: number;
      readonly state: 'stopped' | 'disconnected' | 'off';
      readonly for: number;
    }
  /** The namespace of all Ats and ConfigWatchers; it is made again after that, empty. */
  | { readonly at: number; readonly fault: 'namespace-deleted'; readonly for: number }
  /** The node is cordoned, and its Pods are evicted until they are gone. */
  | { readonly at: number; readonly fault: 'drain'; readonly node: number; readonly for: number };

export interface Plan {
  readonly seed: string;
  /** Ms in which faults and deeds begin; all faults are over by then. */
  readonly duration: number;
  readonly replicas: number;
  readonly election: boolean;
  readonly clocks: readonly ClockPlan[];
  readonly servers: number;
  /** Which parts of what can happen this plan draws from. */
  readonly features: readonly string[];
  readonly deeds: readonly Deed[];
  readonly faults: readonly FaultPlan[];
}
