/**
 * Measures how much more two processes serve than one: `npm run bench -- processes [--count 2] [--seconds 10] [--rounds 3]`. See
 * docs/benchmarks.md. Needs wrk. wrk, the database and other programs use the same processors as the servers. Work that several
 * processes duplicate shows in the processor time of a response, which is the target; the responses per second are also printed.
 * Needs Linux.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { prepareScene } from './load/scene.js';
import { cachedTilePath } from './load/kinds.js';
import { benchDatabase } from './support/database.js';
import { median } from './support/measure.js';

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    count: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    database: { type: 'string', default: 'durable' },
  },
});
const run = promisify(execFile);
const program = fileURLToPath(new URL('../scripts/start.js', import.meta.url));
const targetRatio = 1.8;

/** Starts `npm start` with this number of processes. */
async function start(count: number, uri: string, data: string): Promise<{ url: string; pid: number; stop: () => Promise<void> }> {
  const words = [program, '--bare', '--processes', String(count)];
  const env = { ...process.env, PORT: '0', MONGODB_URI: uri, DATA_DIR: data, LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const bytes of child.stdout) {
    text += String(bytes);
    if (text.includes(count > 1 ? `All ${count} processes are ready` : 'Stop with Ctrl-C')) break;
  }
  const url = /^Address +(\S+)\/$/m.exec(text)?.[1];
  if (url === undefined) throw new Error(`The server has not started: ${text}`);
  const stop = async () => {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  return { url, pid: child.pid!, stop };
}

/** Processor time of a process and of the processes below it, in hundredths of a second. */
async function ticksOf(pid: number): Promise<number> {
  const processes = new Map<number, { parent: number; ticks: number }>();
  for (const name of await readdir('/proc')) {
    if (!/^\d{1,10}$/.test(name)) continue;
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // After the name of the program, which may contain anything: state, parent, …, user time, system time.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    processes.set(Number(name), { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) });
  }
  const sum = (id: number): number =>
    [...processes].reduce(
      (ticks, [child, { parent }]) => (parent === id ? ticks + sum(child) : ticks),
      processes.get(id)?.ticks ?? 0,
    );
  return sum(pid);
}

interface Measurement {
  /** Answers per second, all successful. */
  rate: number;
  /** Processor time per answer in the processes of the server, in microseconds. */
  cost: number;
}

async function measure({ url, pid }: { url: string; pid: number }, token: string): Promise<Measurement> {
  const before = await ticksOf(pid);
  const words = ['-t', '1', '-c', '32', '-d', `${values.seconds}s`, '-H', `Girder-Token: ${token}`, url];
  const { stdout } = await run('wrk', words);
  if (/Non-2xx/.test(stdout)) throw new Error(`Not all responses were successes: ${stdout}`);
  const answers = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  return {
    rate: Number(/Requests\/sec: *([\d.]+)/.exec(stdout)?.[1]),
    cost: (((await ticksOf(pid)) - before) * 10_000) / answers,
  };
}

const directory = await mkdtemp(join(tmpdir(), 'bench-processes-'));
const database = await benchDatabase(directory, values.database === 'embedded' ? 'embedded' : 'durable');
const counts = [1, Number(values.count)];
const rounds = new Map<number, Measurement[]>(counts.map((count) => [count, []]));
try {
  const uri = new URL(database.uri);
  uri.pathname = `/bench_${process.pid}`;
  const data = join(directory, 'data');
  const preparationServer = await start(1, uri.href, data);
  const scene = await prepareScene(preparationServer.url, directory, 1000);
  await preparationServer.stop();
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const count of counts) {
      const server = await start(count, uri.href, data);
      try {
        const tile = server.url + cachedTilePath(scene, 0);
        await measure({ ...server, url: tile }, scene.tokens[0]!);
        rounds.get(count)!.push(await measure({ ...server, url: tile }, scene.tokens[0]!));
      } finally {
        await server.stop();
      }
    }
  }
  const mediansOf = (key: keyof Measurement) =>
    counts.map((count) => median(rounds.get(count)!.map((each) => each[key]))) as [number, number];
  const [one, several] = mediansOf('rate');
  const [oneCost, severalCost] = mediansOf('cost');
  const ratio = (counts[1]! * oneCost) / severalCost;
  console.log(`tiles of the cache, on ${availableParallelism()} processors that wrk and the database use too`);
  console.log(`1 process    ${one.toFixed(0)}/s  ${oneCost.toFixed(0)} µs of processor time a response`);
  console.log(
    `${counts[1]} processes  ${several.toFixed(0)}/s  ${severalCost.toFixed(0)} µs    ${(several / one).toFixed(2)} × as many responses here`,
  );
  console.log(
    `on processors of their own ${ratio.toFixed(2)} × (target: ${targetRatio}; ${ratio >= targetRatio ? 'reached' : 'NOT REACHED'})`,
  );
} finally {
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
