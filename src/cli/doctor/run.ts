/** Run: a doctor's findings, printed as they come, or all of them for a program. */
import { type Cluster, withCluster } from '../cluster/cluster.ts';
import { dataFormats, documentOf, formatOf } from '../output/document.ts';
import { styleOf } from '../output/style.ts';
import { type Call, clusterFlags, outputFlag } from '../program/command.ts';
import { exitCode } from '../program/exit.ts';
import { type Finding, findingLines } from './finding.ts';

export type Examination = (cluster: Cluster) => Promise<readonly Finding[]>;

export const doctorFlags = { ...outputFlag(...dataFormats), ...clusterFlags };

/** @returns 1 when something is wrong. */
export function runDoctor(call: Call, examinations: readonly Examination[]): Promise<number> {
  const { output, env } = call.host;
  const style = styleOf(output, env);
  const format = formatOf(call.value('output'), dataFormats);
  return withCluster(call, async (cluster) => {
    const findings: Finding[] = [];
    for (const examine of examinations) {
      for (const finding of await examine(cluster)) {
        findings.push(finding);
        if (format === undefined) output.write(`${findingLines(finding, style).join('\n')}\n`);
      }
    }
    if (format !== undefined) output.write(documentOf({ findings }, format));
    return findings.some(({ verdict }) => verdict === 'bad') ? exitCode.failure : exitCode.success;
  });
}
