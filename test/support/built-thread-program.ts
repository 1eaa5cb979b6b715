import type { ThreadProgram } from '../../src/core/concurrency/thread-program.js';
import { builtProgram } from './programs.js';

/** Takes the place of the one in the sources (vitest.config.ts): threads and processes that the tests start run what was built for this run. */
export function threadProgram(_besides: string, { built }: { built: string }): ThreadProgram {
  return { filename: builtProgram(built), execArgv: [] };
}
