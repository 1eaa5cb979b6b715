// A process that runs the test jobs until it is killed. Arguments: database, lease in milliseconds.
import { openJobService, testDefinitions } from '../jobs/job-process.js';

const service = await openJobService(process.argv[2]!, { leaseMs: Number(process.argv[3]) });
for (const definition of testDefinitions(service.connection)) service.runner.define(definition);
await service.runner.startProcessing();
console.log('ready');
process.on('SIGTERM', () => {
  void service.close().then(() => process.exit(0));
});
