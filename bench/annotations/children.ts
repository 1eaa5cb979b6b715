import { fileURLToPath } from 'node:url';
import { startChild, type Child } from '../support/children.js';
import type { References } from './references.js';

const pathOf = (script: string) => fileURLToPath(new URL(script, import.meta.url));

/** Starts a reference host on a database. Its items may have files of the extension `blank`, which are large images without pixels. */
export function startHost(uri: string, dataDirectory: string): Promise<Child> {
  return startChild(pathOf('host.ts'), [uri, dataDirectory]);
}

/** Starts the process that everything is compared with. */
export async function startReferences(uri: string): Promise<Child & References> {
  const child = await startChild(pathOf('references.ts'), [uri]);
  return {
    ...child,
    parseMs: (path) => child.ask('parse', path) as Promise<number>,
    findOneMs: (id) => child.ask('findOne', id) as Promise<number>,
  };
}
