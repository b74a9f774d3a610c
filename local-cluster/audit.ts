/**
 * Audit: what the API server writes into its audit log: one line per answered request, without bodies.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`;

/** Writes the policy and returns the log's path and the API server's arguments. */
export function prepareAudit(directory: string): { log: string; args: string[] } {
  const policy = join(directory, 'audit-policy.yaml');
  const log = join(directory, 'audit.log');
  writeFileSync(policy, auditPolicy);
  writeFileSync(log, '');
  return { log, args: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`] };
}
