import type { Program } from '../../../src/core/concurrency/program.js';
import { builtProgram } from './programs.js';

/**
 * Replaces the function in the sources (vitest.config.ts), so that threads and processes of the tests run what was built for this
 * run.
 */
export function findProgram(_caller: string, { built }: { built: string }): Program {
  return { filename: builtProgram(built), execArgv: [] };
}
