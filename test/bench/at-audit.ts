/** Audit: what a user agent asked of the API server, read from its audit log once a scenario is over. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** One answered request. */
export interface AuditedRequest {
  /** As in `create pods`, `patch ats/status`, `create pods (dry run)`. */
  readonly what: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  /** Within which time it asked to be answered, as in `4s`. */
  readonly timeout: string | undefined;
  /** When the API server received it, epoch milliseconds with a fraction. */
  readonly received: number;
  /** When it had been answered. */
  readonly answered: number;
}

interface AuditLine {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** The requests of the operator, watches aside, in the order in which they were answered. */
export async function requestsOf(auditLog: string, userAgent: RegExp): Promise<AuditedRequest[]> {
  const requests: AuditedRequest[] = [];
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    const audited = JSON.parse(line) as AuditLine;
    if (audited.stage === 'ResponseComplete' && audited.verb !== 'watch') {
      if (userAgent.test(audited.userAgent ?? '')) requests.push(requestOf(audited));
    }
  }
  return requests;
}

function requestOf({ verb, requestURI, objectRef, responseStatus, ...line }: AuditLine): AuditedRequest {
  const { resource = requestURI, subresource, namespace = '', name = '' } = objectRef ?? {};
  const dryRun = requestURI.includes('dryRun=') ? ' (dry run)' : '';
  return {
    what: `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}${dryRun}`,
    namespace,
    name,
    code: responseStatus?.code ?? 0,
    timeout: /[?&]timeout=([^&]+)/.exec(requestURI)?.[1],
    received: epochOf(line.requestReceivedTimestamp),
    answered: epochOf(line.stageTimestamp),
  };
}

/** `2030-01-31T09:00:00.123456Z`, whose microseconds Date drops. */
function epochOf(microTime: string): number {
  return Date.parse(`${microTime.slice(0, 19)}Z`) + Number(`0${microTime.slice(19, -1)}`) * 1000;
}

/** How often each kind of request was sent, most frequent first. */
export function countByKind(requests: readonly AuditedRequest[]): Map<string, number> {
  const counts = Map.groupBy(requests, ({ what }) => what);
  const rows = [...counts].map(([what, all]) => [what, all.length] as const);
  return new Map(rows.sort(([, one], [, other]) => other - one));
}
