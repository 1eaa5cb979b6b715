/** Sockets of killed processes are removed when the next process starts, and nothing else is. */
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { harmlessLogger } from '../../../src/larger-host.js';
import type { Models } from '../../../src/reference-host/models.js';
import { ProcessLife } from '../../../src/reference-host/upkeep/process-life.js';
import { listenAt } from '../../../src/reference-host/upkeep/sockets.js';
import { startHostModels } from '../../support/hosts/host-models.js';

let started: Awaited<ReturnType<typeof startHostModels>>;
let models: Models;
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'life-'));
  started = await startHostModels();
  ({ models } = started);
});
afterAll(async () => {
  await started?.stop();
  await rm(root, { recursive: true, force: true });
});

const start = () => ProcessLife.start({ models, root, logger: harmlessLogger(undefined) });
const sockets = async () => (await readdir(join(root, 'processes'))).toSorted();

it('a starting process removes sockets of dead processes that have no record', async () => {
  const first = await start();
  const hourAgo = new Date(Date.now() - 3_600_000);
  // Files without a listener look like sockets of killed processes, because a connection to either is refused.
  for (const name of ['old', 'recent', 'recorded']) await writeFile(join(root, 'processes', name), '');
  const live = await listenAt(join(root, 'processes', 'live'), 'live');
  for (const name of ['old', 'recorded', 'live']) await utimes(join(root, 'processes', name), hourAgo, hourAgo);
  await models.hostProcess.create({ _id: 'recorded', machine: 'here', listens: true, beat: hourAgo });

  const second = await start();
  expect(await sockets()).toEqual([first.id, second.id, 'live', 'recent', 'recorded'].toSorted());

  await second.forgetProcess('recorded');
  expect(await sockets()).toEqual([first.id, second.id, 'live', 'recent'].toSorted());
  expect(await models.hostProcess.exists({ _id: 'recorded' })).toBeNull();
  await Promise.all([first.stop(), second.stop()]);
  expect(await sockets()).toEqual(['live', 'recent']);
  live.close();
});
