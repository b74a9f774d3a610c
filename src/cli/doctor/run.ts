/** Run: a doctor's findings, printed as they come. */
import { type Cluster, withCluster } from '../cluster/cluster.ts';
import { styleOf } from '../output/style.ts';
import type { Call } from '../program/command.ts';
import { exitCode } from '../program/exit.ts';
import { type Finding, findingLines } from './finding.ts';

export type Examination = (cluster: Cluster) => Promise<readonly Finding[]>;

/** @returns 1 when something is wrong. */
export function runDoctor(call: Call, examinations: readonly Examination[]): Promise<number> {
  const { output, env } = call.host;
  const style = styleOf(output, env);
  return withCluster(call, async (cluster) => {
    let isWell = true;
    for (const examine of examinations) {
      for (const finding of await examine(cluster)) {
        isWell &&= finding.verdict !== 'bad';
        for (const line of findingLines(finding, style)) output.write(`${line}\n`);
      }
    }
    return isWell ? exitCode.success : exitCode.failure;
  });
}
