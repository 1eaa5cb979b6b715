import type { Program } from '../../../src/core/concurrency/program.js';
import { builtProgram } from './programs.js';

/** Takes the place of the one in the sources (vitest.config.ts): threads and processes that the tests start run what was built for this run. */
export function programOf(_caller: string, { built }: { built: string }): Program {
  return { filename: builtProgram(built), execArgv: [] };
}
