// Opens the files of a folder for `info`, one after the other, in one process.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readImageInfo } from '../../src/cli/info.js';
import { serveParent } from '../support/children.js';

await serveParent(
  '',
  {
    async open(folder) {
      for (const name of await readdir(folder)) await readImageInfo(join(folder, name), { includesInternal: false });
    },
  },
  () => Promise.resolve(),
);
