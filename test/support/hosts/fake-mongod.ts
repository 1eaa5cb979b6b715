import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes a program called `mongod` that takes mongod's options and serves MongoDB's protocol by passing every byte on to a real
 * server. It writes the file by which a data folder of mongod is recognized, and its process id to `pid`.
 *
 * @returns its folder, for `PATH`
 */
export async function writeMongod(folder: string, server: { host: string; port: number }): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'mongod'), mongodProgram(server));
  await chmod(join(folder, 'mongod'), 0o755);
  return folder;
}

/** Text of the program; see {@link writeMongod}. */
export function mongodProgram(server: { host: string; port: number }): string {
  return `#!${process.execPath}
const { connect, createServer } = require('node:net');
const { writeFileSync } = require('node:fs');
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const folder = option('--dbpath');
writeFileSync(folder + '/WiredTiger', '');
writeFileSync(folder + '/pid', String(process.pid));
process.on('SIGTERM', () => { writeFileSync(folder + '/ended', 'SIGTERM'); process.exit(0); });
createServer((client) => {
  const server = connect(${server.port}, ${JSON.stringify(server.host)});
  client.on('error', () => server.destroy()).pipe(server);
  server.on('error', () => client.destroy()).pipe(client);
}).listen(Number(option('--port')), option('--bind_ip'));
`;
}
