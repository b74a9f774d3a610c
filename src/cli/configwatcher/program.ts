/** Program: `kubectl configwatcher` and its commands. */
import packageJson from '../../../package.json' with { type: 'json' };
import { configWatchers } from '../../api/resources.ts';
import type { Program } from '../program/command.ts';
import { completeCommand, completionCommand } from '../program/completion.ts';
import { exitCode } from '../program/exit.ts';
import { doctorCommand } from './doctor.ts';
import { importCommand } from './import.ts';
import { listCommand } from './list.ts';
import { restartCommand } from './restart.ts';
import { waitCommand } from './wait.ts';
import { whyCommand } from './why.ts';

export const kubectlConfigWatcher: Program = {
  name: 'kubectl configwatcher',
  version: packageJson.version,
  summary:
    'Says which Pods are restarted because their configuration changed, why, and whether that is done.',
  commands: [
    listCommand,
    whyCommand,
    waitCommand,
    restartCommand,
    importCommand,
    doctorCommand,
    completionCommand,
    completeCommand(configWatchers, []),
  ],
  notes: [
    `Exit codes: ${exitCode.success} it is done, ${exitCode.failure} it failed, ${exitCode.usage} the command line is wrong, ${exitCode.timeout} after --timeout, ${exitCode.interrupted} Ctrl-C.`,
  ],
};
