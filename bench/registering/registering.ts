/**
 * Compares the processor time of a server that registers the files of a folder with the processor time of a process that opens the same files
 * for `info`. The database has a separate process, which does not count. Then the unchanged files are scanned again.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { withDatabaseName } from '../../src/reference-host/database/uri.js';
import { startChild, type AnsweringChild } from '../support/children.js';
import { benchDatabase } from '../support/database.js';
import { timed } from '../support/measure.js';

const target = 2;
const count = Number(process.argv[3] ?? 2000);
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Processor time of a child while it answers, with the time on the clock. */
class Measurement {
  cpuMs = 0;
  clockMs = 0;
  maxRss = 0;

  async add(child: AnsweringChild, question: string, folder: string): Promise<void> {
    const before = (await child.usage()).cpuMs;
    this.clockMs += (await timed(() => child.ask(question, folder)))[1];
    const { cpuMs, maxRss } = await child.usage();
    this.cpuMs += cpuMs - before;
    this.maxRss = maxRss;
  }

  get msPerFile(): number {
    return this.cpuMs / count;
  }
}

/** Waits until a process has finished its preparations. */
async function waitUntilIdle(child: AnsweringChild): Promise<void> {
  for (let before = -1; ;) {
    const { cpuMs } = await child.usage();
    if (before >= 0 && cpuMs - before < 20) return;
    before = cpuMs;
    await pause(500);
  }
}

const directory = await mkdtemp(join(tmpdir(), 'bench-registering-'));
const [warmUpFolder, files] = [join(directory, 'warm'), join(directory, 'files')];
const halves = [join(files, 'first'), join(files, 'second')] as const;
for (const each of [warmUpFolder, ...halves]) await mkdir(each, { recursive: true });
const noise = { type: 'gaussian' as const, mean: 128, sigma: 20 };
const image = await sharp({ create: { width: 1024, height: 768, channels: 3, background: '#fff', noise } })
  .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 80 })
  .toBuffer();
await writeFile(join(warmUpFolder, 'first.tif'), image);
for (let i = 0; i < count; i += 1) await writeFile(join(halves[i % 2]!, `image ${i}.tif`), image);

const database = await benchDatabase(directory);
const uri = withDatabaseName(database.uri, `bench_registering_${Date.now()}`);
const opener = await startChild(script('opener.ts'), []);
const server = await startChild(script('server.ts'), [uri, join(directory, 'data')]);
try {
  await opener.ask('open', warmUpFolder);
  await server.ask('register', warmUpFolder);
  for (const each of [opener, server]) await waitUntilIdle(each);
  const [opening, registering, rescanning] = [new Measurement(), new Measurement(), new Measurement()];
  // The speed of a shared machine changes, so one half is opened before and the other half afterwards.
  await opening.add(opener, 'open', halves[0]);
  await registering.add(server, 'register', files);
  await opening.add(opener, 'open', halves[1]);
  await rescanning.add(server, 'register', files);
  const ratio = registering.msPerFile / opening.msPerFile;
  console.log(`Database ${database.engine}, ${count} files`);
  console.log(`info         ${opening.msPerFile.toFixed(2)} ms of processor time a file`);
  console.log(
    `registering  ${registering.msPerFile.toFixed(2)} ms: ${ratio.toFixed(2)} ×, at most ${target} ×: ` +
      `${ratio <= target ? 'reached' : 'NOT REACHED'} (${(registering.clockMs / 1000).toFixed(1)} s in all)`,
  );
  console.log(
    `unchanged    ${rescanning.msPerFile.toFixed(3)} ms (${(rescanning.clockMs / 1000).toFixed(1)} s in all), ` +
      `${(rescanning.maxRss / 1e6).toFixed(0)} MB at most`,
  );
} finally {
  await opener.stop();
  await server.stop();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
