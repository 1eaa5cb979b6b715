/**
 * Runs clients of all kinds at the same time on a reference host in a separate process:
 * `npm run bench -- load [--seconds 60] [--clients 200] [--database durable|embedded] [--profile FILE]`. See docs/benchmarks.md.
 */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runClients } from './clients.js';
import type { LoopDelay, ServerState } from './host.js';
import { cachedTilePath, mixedKinds, type Acknowledged } from './kinds.js';
import { report } from './report.js';
import { prepareScene, type Scene } from './scene.js';
import { startChild } from '../support/children.js';
import { benchDatabase } from '../support/database.js';

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '200' },
    database: { type: 'string', default: 'durable' },
    profile: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const clients = Number(values.clients);
/** Within this time, code is compiled and caches are filled. */
const warmUpSeconds = Math.min(10, Math.max(3, seconds / 6));
/** Within this time, the server releases what it keeps for requests that may come soon. */
const restSeconds = Math.min(30, Math.max(12, seconds / 2));

const directory = await mkdtemp(join(tmpdir(), 'bench-load-'));
const temporary = join(directory, 'temporary');
await mkdir(temporary);
const database = await benchDatabase(directory, values.database === 'embedded' ? 'embedded' : 'durable');
const uri = new URL(database.uri);
uri.pathname = `/bench_${process.pid}`;

/** Number of elements without the last acknowledged value. */
async function countLostEdits(scene: Scene, acknowledged: Acknowledged): Promise<number> {
  const currentWidths = new Map((await scene.elements(scene.elementIds.length)).map(({ id, lineWidth }) => [id, lineWidth]));
  return [...acknowledged].filter(([id, value]) => currentWidths.get(id) !== value).length;
}

async function main(): Promise<void> {
  const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const host = await startChild(script('host.ts'), [uri.href, join(directory, 'data')], ['--expose-gc'], {
    TMPDIR: temporary,
  });
  const state = () => host.ask('state') as Promise<ServerState>;
  const loop = () => host.ask('loop') as Promise<LoopDelay>;
  try {
    const scene = await prepareScene(host.url, directory);
    const tile = await fetch(host.url + cachedTilePath(scene, 0), { headers: { 'Girder-Token': scene.tokens[0]! } });
    const tilePath = join(directory, 'tile.jpg');
    await writeFile(tilePath, Buffer.from(await tile.arrayBuffer()));
    const bare = await startChild(script('bare.ts'), [tilePath]);
    try {
      const acknowledged: Acknowledged = new Map();
      const kinds = mixedKinds(host.url, bare.url, scene, clients, acknowledged);
      await runClients(kinds, warmUpSeconds);
      await pause(1000);
      const before = await state();
      await loop();
      const clientLoop = monitorEventLoopDelay({ resolution: 10 });
      clientLoop.enable();
      const cpuBefore = (await host.usage()).cpuMs;
      if (values.profile !== undefined) await host.ask('profile');
      const outcomes = await runClients(kinds, seconds);
      if (values.profile !== undefined) await host.ask('profile', values.profile);
      clientLoop.disable();
      const delay = await loop();
      const cpuMs = (await host.usage()).cpuMs - cpuBefore;
      const after = await state();
      await pause(restSeconds * 1000);
      const rested = await state();
      report({
        seconds,
        outcomes,
        engine: database.engine,
        delay,
        clientDelayMs: clientLoop.max / 1e6,
        cpuMs,
        states: { before, after, rested },
        lost: await countLostEdits(scene, acknowledged),
        // The loader of TypeScript has a folder there.
        temporaryFiles: (await readdir(temporary)).filter((name) => !name.startsWith('tsx-')).length,
      });
    } finally {
      await bare.stop();
    }
  } finally {
    await host.stop();
  }
}

try {
  await main();
} finally {
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
