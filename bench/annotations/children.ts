import { fileURLToPath } from 'node:url';
import { startChild, type Child } from '../support/children.js';
import { buildProgram } from '../../test/support/run/built-program.js';
import type { References } from './references.js';

const pathOf = (script: string) => fileURLToPath(new URL(script, import.meta.url));

/** The program of a reference host. It is built, because each thread of the sources first compiles TypeScript for half a second. */
export function buildHost(): ReturnType<typeof buildProgram> {
  return buildProgram('bench/annotations/host');
}

/** Starts a reference host on a database. Its items may have files of the extension `blank`, which are large images without pixels. */
export function startHost(program: string, uri: string, dataDirectory: string): Promise<Child> {
  return startChild(program, [uri, dataDirectory]);
}

/** Starts the process that makes the reference measurements. */
export async function startReferences(uri: string): Promise<Child & References> {
  const child = await startChild(pathOf('references.ts'), [uri]);
  return {
    ...child,
    parseMs: (path) => child.ask('parse', path) as Promise<number>,
    findOneMs: (id) => child.ask('findOne', id) as Promise<number>,
  };
}
