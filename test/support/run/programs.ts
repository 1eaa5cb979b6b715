import { join } from 'node:path';
import { inject } from 'vitest';
import type {} from './global-setup.js';

/** Path of a program, or of a module for a script, that has been built for this run (`buildTestPrograms`). */
export function builtProgram(name: string): string {
  return join(inject('programs'), `${name}.js`);
}
