/** Program: `kubectl at` and its commands. */
import packageJson from '../../../package.json' with { type: 'json' };
import { ats } from '../../api/resources.ts';
import type { Program } from '../program/command.ts';
import { completeCommand, completionCommand } from '../program/completion.ts';
import { exitCode } from '../program/exit.ts';
import { cleanCommand } from './clean.ts';
import { createCommand } from './create.ts';
import { doctorCommand } from './doctor.ts';
import { cancelCommand, moveCommand, resumeCommand, suspendCommand } from './edit.ts';
import { listCommand } from './list.ts';
import { logsCommand } from './logs.ts';
import { rerunCommand } from './rerun.ts';
import { showCommand } from './show.ts';
import { waitCommand } from './wait.ts';

/** What completion proposes for WHEN. */
const times = ['now', 'now+10m', 'now+1h', 'noon', 'midnight', 'teatime', 'today', 'tomorrow'];

export const kubectlAt: Program = {
  name: 'kubectl at',
  version: packageJson.version,
  summary: 'Runs a command once, at a time, in a Pod.',
  commands: [
    listCommand,
    showCommand,
    logsCommand,
    waitCommand,
    cancelCommand,
    suspendCommand,
    resumeCommand,
    moveCommand,
    rerunCommand,
    cleanCommand,
    doctorCommand,
    completionCommand,
    completeCommand(ats, times),
  ],
  fallback: createCommand,
  notes: [
    `Exit codes: ${exitCode.success} it is done, ${exitCode.failure} it failed, ${exitCode.usage} the command line is wrong, ${exitCode.interrupted} Ctrl-C. wait ends with the exit`,
    `code of the command, ${exitCode.timeout} after --timeout, ${exitCode.missed} when the command was missed or canceled.`,
  ],
};
