/** All rows of the conformance suite, by what they are about. */
import { admissionRows } from './admission.ts';
import { customRows } from './custom.ts';
import { deleteRows } from './deletes.ts';
import { evictionRows } from './evictions.ts';
import { immutableRows } from './immutable.ts';
import { podRows } from './pods.ts';
import { readRows } from './reads.ts';
import { refusalRows } from './refusals.ts';
import { reviewRows } from './reviews.ts';
import type { ConformanceRow } from './subject.ts';
import { versionRows } from './versions.ts';
import { writeRows } from './writes.ts';

export const conformanceRows: readonly {
  readonly about: string;
  readonly rows: readonly ConformanceRow[];
}[] = [
  { about: 'writes', rows: writeRows },
  { about: 'reads', rows: readRows },
  { about: 'versions', rows: versionRows },
  { about: 'deletes', rows: deleteRows },
  { about: 'pods', rows: podRows },
  { about: 'evictions', rows: evictionRows },
  { about: 'immutable sources', rows: immutableRows },
  { about: 'custom resources', rows: customRows },
  { about: 'refusals', rows: refusalRows },
  { about: 'access reviews', rows: reviewRows },
  { about: 'admission of the kinds of this project', rows: admissionRows },
];
