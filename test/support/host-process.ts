// A reference host in a process of its own, until it ends at a step or is killed: database, data directory. It prints its address.
import { createReferenceHost } from '../../src/reference-host/index.js';

const host = await createReferenceHost({
  mongoUri: process.argv[2]!,
  dataDirectory: process.argv[3]!,
  brand: 'girder',
  viewer: false,
  passwordMemoryKiB: 8,
  // Others recover from what was killed before: this process is to die of its own requests.
  upkeep: false,
});
const { url } = await host.listen();
await import('./kill-at-step.js');
console.log(url);
