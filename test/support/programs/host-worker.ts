// A worker process of the reference host, until it is killed. Arguments: database, data directory.
import { createReferenceHost } from '../../../src/reference-host/index.js';

const worker = await createReferenceHost({
  mongoUri: process.argv[2]!,
  dataDirectory: process.argv[3]!,
  brand: 'girder',
  worker: true,
});
console.log('ready');
process.on('SIGTERM', () => {
  void worker.close().then(() => process.exit(0));
});
