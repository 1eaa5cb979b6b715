import { builtProgram } from './programs.js';

/** Words for Node that let `stepsEnvironment` reach the process; they go before the program. */
export const stepsWords = (): readonly string[] => ['--import', builtProgram('kill-at-step')];

/** Environment of a process that is to end at a step (`name` or `name#3`), or to write down the steps it reaches. */
export function stepsEnvironment(options: { killAt?: string; file?: string }): Record<string, string> {
  return {
    ...(options.killAt !== undefined && { KILL_AT_STEP: options.killAt }),
    ...(options.file !== undefined && { STEPS_FILE: options.file }),
  };
}
