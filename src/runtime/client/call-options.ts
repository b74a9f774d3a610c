/** Call options: what can be said of a call to the API server, whatever it asks for. */

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /**
   * Milliseconds for the whole call, retries included. Default 30 000 for reads and 5 000 for writes
   * (`requestTimeouts` of the connection). With leader election a write has 5 000 at most: what a leader sends must
   * be over before another process may lead.
   */
  readonly timeout?: number;
}

/** Options of every write but deletes. */
export interface WriteOptions extends CallOptions {
  /** `dryRun=All`: the server validates and admits, and stores nothing. */
  readonly dryRun?: boolean;
  /**
   * `Strict`: a field that the server does not know is refused with 400. Absent: the server drops it, and says so in
   * a header only.
   */
  readonly fieldValidation?: 'Strict';
  /** Name under which the server records the fields set; default the client's own. */
  readonly fieldManager?: string;
  /**
   * Milliseconds after which it is not sent any more, however long the process was stopped before; it then
   * rejects with a `TransportError` that says so. Default: as `timeout`.
   */
  readonly sendWithin?: number;
  /** Milliseconds after its arrival at which the server gives it up. Default, and most: four fifths of `timeout`. */
  readonly serverTimeout?: number;
}
