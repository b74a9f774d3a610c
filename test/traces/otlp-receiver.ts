/** OtlpReceiver: takes traces by OTLP over HTTP, as JSON, and keeps what it was sent. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** A span as OTLP has it. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty or absent: it has none. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, unknown>>;
  }[];
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

export class OtlpReceiver {
  readonly spans: OtlpSpan[] = [];
  readonly #server = createServer(async (request, response) => {
    const isTraces = request.method === 'POST' && request.url === '/v1/traces';
    if (!isTraces || request.headers['content-type'] !== 'application/json') {
      response.writeHead(415).end();
      return;
    }
    const { resourceSpans } = await bodyOf(request);
    this.spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });

  /** Resolves when it listens, on the loopback address. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  /** Without a path. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function bodyOf(request: IncomingMessage): Promise<TraceRequest> {
  if (request.headers['content-encoding'] !== 'gzip') return (await json(request)) as TraceRequest;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(gunzipSync(Buffer.concat(chunks)).toString());
}
