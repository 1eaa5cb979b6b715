// A server that registers the files of folders in place, as `npm start -- FOLDER` does.
import { createReferenceHost } from '../../src/reference-host/index.js';
import { ServedFiles } from '../../src/reference-host/start/content/served-files.js';
import { serveParent } from '../support/children.js';

const [mongoUri, dataDirectory] = process.argv.slice(2) as [string, string];
const host = await createReferenceHost({ mongoUri, dataDirectory, viewer: false });
await serveParent(
  '',
  {
    async register(folder) {
      const servedFiles = new ServedFiles({
        paths: [folder],
        creatorId: null,
        isPublic: true,
        onProgress() {},
        onLeftOut: (path, reason) => console.error(`${path}: ${reason}`),
      });
      return servedFiles.scan(host.context, new AbortController().signal);
    },
  },
  () => host.close(),
);
