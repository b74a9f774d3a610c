/**
 * Conformance of admission by our own definitions: every row that the kinds are specified by gets the same verdict,
 * in the same words, and so does every sample.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { atRows, baseAtSpec, type Row } from '../api/at-rows.ts';
import { baseConfigWatcherSpec, configWatcherRows } from '../api/configwatcher-rows.ts';
import { assertRefused, type ConformanceRow, succeeded } from './subject.ts';

const at = { apiVersion: 'cnat.programming-kubernetes.info/v1alpha1', kind: 'At' };
const configWatcher = { apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher' };
const plurals: Readonly<Record<string, string>> = { At: 'ats', ConfigWatcher: 'configwatchers' };

const kinds: readonly { readonly type: typeof at; readonly base: object; readonly rows: readonly Row[] }[] = [
  { type: at, base: baseAtSpec, rows: atRows },
  { type: configWatcher, base: baseConfigWatcherSpec, rows: configWatcherRows },
];

function collectionOf({ apiVersion, kind }: typeof at, namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/${plurals[kind]}?dryRun=All&fieldValidation=Strict`;
}

const rows = kinds.map(
  ({ type, base, rows }): ConformanceRow => ({
    title: `the rows of ${type.kind} get their verdicts`,
    async run({ api, namespace }) {
      for (const { it, spec, refused } of rows) {
        const body = { ...type, metadata: { name: 'row' }, spec: { ...base, ...spec } };
        const answer = await api.send('POST', collectionOf(type, namespace), { body });
        if (refused === undefined) assert.equal(answer.code, 201, `${it}: ${answer.text}`);
        else {
          const causes = assertRefused(answer, { code: 422, reason: 'Invalid', message: /is invalid: / });
          const said = causes.map(({ field, message }) => `${field}: ${message}`);
          // Of a list with a duplicate the API server names the item.
          const isThere = (text: string) =>
            [`${refused.field}: `, `${refused.field}[`].some((place) => text.startsWith(place));
          assert.ok(
            said.some(isThere) && answer.body.message.includes(refused.says),
            `${it}: ${said.join('; ')}`,
          );
        }
      }
    },
  }),
);

const folder = 'config/samples';

export const admissionRows: readonly ConformanceRow[] = [
  ...rows,
  {
    title: 'the samples get their verdicts',
    async run({ api, namespace }) {
      let refusals = 0;
      for (const file of readdirSync(folder)) {
        const text = readFileSync(`${folder}/${file}`, 'utf8');
        const promised = /^# Refused: (.+)$/m.exec(text)?.[1];
        for (const document of parseAllDocuments(text)) {
          const body = document.toJS();
          if (plurals[body?.kind] === undefined) continue;
          const answer = await api.send('POST', collectionOf(body, namespace), {
            body: { ...body, metadata: { ...body.metadata, namespace } },
          });
          if (promised === undefined) succeeded(answer);
          else {
            refusals++;
            assert.ok(
              answer.code >= 400 && answer.body.message.includes(promised),
              `${file}: ${answer.text}`,
            );
          }
        }
      }
      assert.ok(refusals > 10, `${refusals} refusals`);
    },
  },
];
