/** One `npm start`, as README says. The group `start` has the rest. */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ping } from '../../src/reference-host/database/uri.js';
import { npmStart, type ServerProcess } from '../support/hosts/server-process.js';

const newUser = { login: 'first', email: 'first@example.org', firstName: 'First', lastName: 'User', password: 'secret-1' };

let work: string;
let server: ServerProcess | undefined;
afterAll(async () => {
  server?.kill('SIGKILL');
  await server?.ended;
  await rm(work, { recursive: true, force: true });
});

/** The command lines of all processes of a process group; none on systems without /proc. */
async function commandsOf(group: number): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d{1,10}$/.test(name));
  const read = (pid: string, name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
  const commands: string[] = [];
  for (const pid of pids) {
    // After the name of the program, which may contain anything: state, parent, group, …
    const [, , groupId] = (await read(pid, 'stat')).replace(/^.*\) /s, '').split(' ');
    if (Number(groupId) === group) commands.push((await read(pid, 'cmdline')).replaceAll('\0', ' '));
  }
  return commands;
}

it('starts its own database without users, makes the first user the administrator, and stops everything', async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-start-'));
  server = npmStart(['--bare'], { DATA_DIR: join(work, 'data'), MONGODB_URI: undefined });
  const url = await server.url();
  expect(await commandsOf(server.process.pid!)).not.toContainEqual(expect.stringContaining('tsx'));
  expect(server.output()).toContain('the first user to register is the administrator');
  expect(server.output()).toMatch(/ITS DATA ARE IN MEMORY|data in .*database/);
  const collections = await fetch(`${url}/api/v1/collection`);
  expect(await collections.json()).toEqual([]);
  const user = await fetch(`${url}/api/v1/user?${new URLSearchParams(newUser).toString()}`, { method: 'POST' });
  expect(await user.json()).toMatchObject({ admin: true });
  const page = await fetch(`${url}/`);
  expect(page.headers.get('content-type')).toContain('text/html');
  server.kill('SIGINT');
  await server.ended;
  await expect(fetch(url)).rejects.toThrow();
  expect(server.output()).toContain('Stopping');
  const address = /^Database .* at (127\.0\.0\.1:\d+)/m.exec(server.output())?.[1];
  expect(address).toBeDefined();
  await expect(ping(`mongodb://${address}/`, 1000)).rejects.toThrow();
});
