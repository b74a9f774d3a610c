/** OpenTelemetry API: the part of the package `@opentelemetry/api` that is used, in its own words. */

/** A span of OpenTelemetry, as far as it is used. */
export interface TraceSpan {
  setAttribute(key: string, value: string | number): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** The exports of `@opentelemetry/api`, as far as they are used. */
export interface OpenTelemetryApi<C, S extends TraceSpan> {
  readonly context: { active(): C; with<R>(context: C, work: () => R): R };
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number; attributes: Record<string, string> }, context: C): S;
    };
    getSpan(context: C): S | undefined;
    setSpan(context: C, span: S): C;
  };
  readonly propagation: { inject(context: C, carrier: Record<string, string>): void };
}
