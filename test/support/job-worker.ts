// A process that runs the test jobs on the database it is given, until it is killed.
import { openJobService, testDefinitions } from './job-process.js';

const service = await openJobService(process.argv[2]!);
for (const definition of testDefinitions(service.connection)) service.runner.define(definition);
await service.runner.startProcessing();
console.log('ready');
process.on('SIGTERM', () => {
  void service.close().then(() => process.exit(0));
});
