import { builtProgram } from './programs.js';

/** Options of Node, before the program, with which `stepsEnvironment` works. */
export const stepsWords = (): readonly string[] => ['--import', builtProgram('kill-at-step')];

/** The environment of a process that must end at a step (`name` or `name#3`), or record the steps that it reaches. */
export function stepsEnvironment(options: { killAt?: string; file?: string }): Record<string, string> {
  return {
    ...(options.killAt !== undefined && { KILL_AT_STEP: options.killAt }),
    ...(options.file !== undefined && { STEPS_FILE: options.file }),
  };
}
