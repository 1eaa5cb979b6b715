// A server, or a process for jobs, that will be killed. Arguments: database, data directory, `server` or `worker`. Prints its
// address, then what it sweeps.
import { createReferenceHost } from '../../src/reference-host/index.js';

const [mongoUri, dataDirectory, role] = process.argv.slice(2) as [string, string, string];
const printSweep = (fields: object, event: string): void => {
  if (/Swept|Sweep:Done|Recovered/.test(event)) process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
};
const logProblem = (fields: object, event: string): void => {
  const { err } = fields as { err?: Error };
  process.stderr.write(`${JSON.stringify({ at: new Date(), role, event, ...fields, err: err?.stack ?? err })}\n`);
};
const host = await createReferenceHost({
  mongoUri,
  dataDirectory,
  viewer: false,
  passwordMemoryKiB: 8,
  worker: role === 'worker',
  logger: { debug() {}, info: printSweep, warn: logProblem, error: logProblem },
  settings: role === 'worker' ? {} : { 'core.upload_minimum_chunk_size': 1024, 'core.user_maximum_uploads': 0 },
});
const url = role === 'worker' ? 'worker' : (await host.listen()).url;
process.stdout.write(`address ${url}\n`);
