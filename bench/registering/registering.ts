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
const halfFolders = [join(files, 'first'), join(files, 'second')] as const;
for (const each of [warmUpFolder, ...halfFolders]) await mkdir(each, { recursive: true });
const noise = { type: 'gaussian' as const, mean: 128, sigma: 20 };
const image = await sharp({ create: { width: 1024, height: 768, channels: 3, background: '#fff', noise } })
  .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 80 })
  .toBuffer();
await writeFile(join(warmUpFolder, 'first.tif'), image);
for (let i = 0; i < count; i += 1) await writeFile(join(halfFolders[i % 2]!, `image ${i}.tif`), image);

const database = await benchDatabase(directory);
const uri = withDatabaseName(database.uri, `bench_registering_${Date.now()}`);
const openerProcess = await startChild(script('opener.ts'), []);
const serverProcess = await startChild(script('server.ts'), [uri, join(directory, 'data')]);
try {
  await openerProcess.ask('open', warmUpFolder);
  await serverProcess.ask('register', warmUpFolder);
  for (const each of [openerProcess, serverProcess]) await waitUntilIdle(each);
  const [openingResult, registeringResult, rescanResult] = [new Measurement(), new Measurement(), new Measurement()];
  // The speed of a shared machine changes, so one half is opened before and the other half afterwards.
  await openingResult.add(openerProcess, 'open', halfFolders[0]);
  await registeringResult.add(serverProcess, 'register', files);
  await openingResult.add(openerProcess, 'open', halfFolders[1]);
  await rescanResult.add(serverProcess, 'register', files);
  const ratio = registeringResult.msPerFile / openingResult.msPerFile;
  console.log(`Database ${database.engine}, ${count} files`);
  console.log(`info         ${openingResult.msPerFile.toFixed(2)} ms of processor time a file`);
  console.log(
    `registering  ${registeringResult.msPerFile.toFixed(2)} ms: ${ratio.toFixed(2)} ×, at most ${target} ×: ` +
      `${ratio <= target ? 'reached' : 'NOT REACHED'} (${(registeringResult.clockMs / 1000).toFixed(1)} s in all)`,
  );
  console.log(
    `unchanged    ${rescanResult.msPerFile.toFixed(3)} ms (${(rescanResult.clockMs / 1000).toFixed(1)} s in all), ` +
      `${(rescanResult.maxRss / 1e6).toFixed(0)} MB at most`,
  );
} finally {
  await openerProcess.stop();
  await serverProcess.stop();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
