/** Traced request: tells of a request and how it was answered, and sends what subscribers have added to its headers. */
import { asRequest, type RequestEvent } from '../diagnostics.ts';
import { ApiError } from './api-error.ts';
import type { Exchange } from './exchange.ts';
import type { HttpRequest } from './http-request.ts';
import { resourceOf } from './resource-path.ts';

type Perform = (request: HttpRequest) => Promise<Exchange>;

export function tracedRequest(request: HttpRequest, perform: Perform): Promise<Exchange> {
  const { method, path } = request;
  const about = () => ({ method, path, resource: resourceOf(path), headers: {} });
  return asRequest(about, (event) =>
    event === undefined ? perform(request) : told(event, request, perform),
  );
}

async function told(event: RequestEvent, request: HttpRequest, perform: Perform): Promise<Exchange> {
  try {
    const exchange = await perform({ ...request, headers: event.headers });
    event.code = (await exchange.response).code;
    return exchange;
  } catch (error) {
    if (error instanceof ApiError) event.code = error.code;
    throw error;
  }
}
