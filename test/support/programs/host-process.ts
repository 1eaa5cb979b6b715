// A reference host in its own process, until it is killed. Arguments: database, data directory. It prints its address.
import { createReferenceHost } from '../../../src/reference-host/index.js';

const [mongoUri, dataDirectory, inPlace] = process.argv.slice(2);
const unlimited = { running: 1000, waiting: 1000 };
const host = await createReferenceHost({
  mongoUri: mongoUri!,
  dataDirectory: dataDirectory!,
  brand: 'girder',
  viewer: false,
  passwordMemoryKiB: 8,
  // Other processes recover from earlier kills, because this process must be killed at its own requests.
  upkeep: process.env.UPKEEP === 'true',
  // Writes that are held at their steps do not keep other writes from theirs.
  install: {
    queues: {
      tiles: unlimited,
      chunks: unlimited,
      pictures: unlimited,
      keptFiles: unlimited,
      elements: unlimited,
      edits: unlimited,
    },
  },
});
const { url } = await host.listen();
process.stdout.write(`${url}\n`);
if (inPlace !== undefined) {
  const folder = await host.context.models.folder.findById(process.env.FOLDER).lean();
  await host.registerFileInPlace({ path: inPlace, folder: folder!, itemName: 'in place', creatorId: null });
}
