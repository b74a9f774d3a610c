/** Decide: what to write for a Database, in which order. Pure: time and chance come in, nothing goes out. */
import type { KubernetesObject, Patch, Resource } from '@atwatch/runtime';
import { controllerRef, finalizerPatch, isControlledBy, setCondition } from '@atwatch/runtime';
import { type StatefulSet, statefulSets } from '@atwatch/runtime/types/apps';
import { type Secret, type Service, secrets, services } from '@atwatch/runtime/types/core';
import { type Database, type DatabaseStatus, databases } from './types.generated.ts';

/** What there is under the names of a Database. */
export interface Found {
  readonly secret: Secret | undefined;
  readonly service: Service | undefined;
  readonly statefulSet: StatefulSet | undefined;
}
/** One write. */
export type Effect =
  | readonly ['create', Resource, KubernetesObject]
  | readonly ['patch', Resource, Patch]
  | readonly ['delete', Resource]
  | readonly ['patchStatus', DatabaseStatus];

/** Held while there may be a server, which stops before its Service and its Secret go. */
export const finalizer = 'db.example.com/server';
export const passwordOf = ({ metadata }: Database) => `${metadata.name}-password`;
const imageOf = ({ spec }: Database) => `postgres:${spec.version}`;

/** @param now epoch milliseconds. @param password for a Secret that has to be made, in base64. */
export function decide(database: Database, found: Found, now: number, password: string): readonly Effect[] {
  const { uid = '', deletionTimestamp } = database.metadata;
  const { secret, service, statefulSet } = found;
  if (deletionTimestamp !== undefined) return release(database, statefulSet);
  const record = finalizerPatch(database, finalizer, 'present');
  if (record) return [['patch', databases, record]];
  const taken = [service, statefulSet].find((child) => child && !isControlledBy(child, uid));
  if (taken) return stated(database, now, 'NameTaken', `${taken.metadata.name} is not of this object`);
  // The data were made with that password; another one would open nothing.
  if (!secret && statefulSet) return stated(database, now, 'PasswordLost', `restore ${passwordOf(database)}`);
  const lacking = childrenOf(database, password).filter(([kind]) => !found[kind]);
  const writes = lacking.map(([, resource, object]): Effect => ['create', resource, object]);
  if (statefulSet) writes.push(...update(database, statefulSet));
  const isReady = writes.length === 0 && isRolledOut(statefulSet);
  return [...writes, ...stated(database, now, isReady ? 'Available' : 'Progressing')];
}

function release(database: Database, set?: StatefulSet): Effect[] {
  const record = finalizerPatch(database, finalizer, 'absent');
  const isGone = !set || !isControlledBy(set, database.metadata.uid ?? '');
  if (isGone) return record ? [['patch', databases, record]] : [];
  return set.metadata.deletionTimestamp === undefined ? [['delete', statefulSets]] : [];
}

/** The status, unless it says so already. */
function stated({ metadata, status: before }: Database, now: number, reason: string, message = ''): Effect[] {
  const status = reason === 'Available' ? 'True' : 'False';
  const conditions = setCondition(before?.conditions, { type: 'Ready', status, reason, message }, now);
  const host = `${metadata.name}.${metadata.namespace}.svc`;
  return conditions === before?.conditions ? [] : [['patchStatus', { host, conditions }]];
}

function update(database: Database, { spec }: StatefulSet): Effect[] {
  const value = imageOf(database);
  if (spec?.template.spec?.containers[0]?.image === value) return [];
  const operations = [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value }] as const;
  return [['patch', statefulSets, { type: 'json', operations }]];
}

function isRolledOut({ metadata, status }: Partial<StatefulSet> = {}): boolean {
  const { observedGeneration, readyReplicas = 0, updatedReplicas = 0 } = status ?? {};
  return observedGeneration === metadata?.generation && readyReplicas > 0 && updatedReplicas > 0;
}

function childrenOf(database: Database, password: string) {
  const { name, namespace = '', uid = '' } = database.metadata;
  const metadata = { name, namespace, ownerReferences: [controllerRef(databases, database)] };
  const labels = { 'db.example.com/database': uid };
  const secretKeyRef = { name: passwordOf(database), key: 'password' };
  const folder = { name: 'PGDATA', value: '/data/pg' };
  const env = [{ name: 'POSTGRES_PASSWORD', valueFrom: { secretKeyRef } }, folder];
  const readinessProbe = { exec: { command: ['pg_isready', '--username=postgres'] } };
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const postgres = { name: 'postgres', image: imageOf(database), env, readinessProbe, volumeMounts };
  const resources = { requests: { storage: database.spec.storage } };
  const claim = { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources } };
  const spec = {
    ...{ serviceName: name, selector: { matchLabels: labels }, volumeClaimTemplates: [claim] },
    template: { metadata: { labels }, spec: { containers: [postgres] } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
  };
  const ports = [{ port: 5432 }];
  return [
    ['secret', secrets, { metadata: { ...metadata, name: secretKeyRef.name }, data: { password } }],
    ['service', services, { metadata, spec: { clusterIP: 'None', selector: labels, ports } }],
    ['statefulSet', statefulSets, { metadata, spec } satisfies StatefulSet],
  ] as const;
}
