import { Targets } from '../annotations/targets.js';
import type { Outcome } from './clients.js';
import type { LoopDelay, ServerState } from './host.js';

/** The results of a run. */
export interface RunResult {
  seconds: number;
  outcomes: readonly Outcome[];
  engine: string;
  delay: LoopDelay;
  /** The longest delay of the clients' own event loop, milliseconds. */
  clientDelayMs: number;
  /** Processor time of the server. */
  cpuMs: number;
  states: Record<'before' | 'after' | 'rested', ServerState>;
  /** Number of acknowledged edits that are missing. */
  lost: number;
  /** Number of files that the server has left behind. */
  temporaryFiles: number;
}

const cachedTileMs = 250;
const maxHeapGrowthBytes = 64 * 1024 * 1024;

/** The quantile of times: `share` (0 to 1) of them are below it. */
export function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

const countRequests = ({ statuses }: Outcome, matches: (status: number) => boolean) =>
  [...statuses].reduce((sum, [status, requestCount]) => (matches(status) ? sum + requestCount : sum), 0);

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, i) => (i === 0 ? String(cell).padEnd(20) : String(cell).padStart(9))).join('');
}

function printTable(outcomes: readonly Outcome[], seconds: number): void {
  console.log(row(['kind', 'clients', 'requests', '/s', 'ok', '409', '503', 'other', 'p50 ms', 'p99 ms', 'max ms']));
  for (const outcome of outcomes) {
    const { name, clients, times } = outcome;
    const total = countRequests(outcome, () => true);
    const ok = countRequests(outcome, (status) => status >= 200 && status < 300);
    const conflicts = countRequests(outcome, (status) => status === 409);
    const busy = countRequests(outcome, (status) => status === 503);
    const ms = [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(0));
    const numbers = [total, (total / seconds).toFixed(1), ok, conflicts, busy, total - ok - conflicts - busy];
    console.log(row([name, clients, ...numbers, ...ms]));
  }
}

/** Prints the results next to the targets. */
export function report({ seconds, outcomes, engine, delay, clientDelayMs, cpuMs, states, ...leftovers }: RunResult): void {
  const clients = outcomes.reduce((sum, outcome) => sum + outcome.clients, 0);
  console.log(`\n${clients} clients for ${seconds} s, ${engine}\n`);
  printTable(outcomes, seconds);
  for (const { name, samples } of outcomes) {
    for (const [status, text] of samples) console.log(`  first ${status} of ${name}: ${text}`);
  }
  console.log('');
  const targets = new Targets();
  const total = (matches: (status: number) => boolean) =>
    outcomes.reduce((sum, outcome) => sum + countRequests(outcome, matches), 0);
  const p99 = (name: string) => quantile(outcomes.find((outcome) => outcome.name === name)!.times, 0.99);
  targets.check(
    '5xx other than 503, or no response',
    total((status) => status === 0 || (status >= 500 && status !== 503)),
    0,
    '',
  );
  targets.check(
    '503 without Retry-After',
    outcomes.reduce((sum, { unexplained }) => sum + unexplained, 0),
    0,
    '',
  );
  targets.check('503 of all requests', (100 * total((status) => status === 503)) / total(() => true), 0.1, '%');
  const bare = `${p99('bare Express').toFixed(0)} ms for a bare Express; ratio to the target ${(p99('cached tile') / cachedTileMs).toFixed(2)}`;
  targets.check('cached tile, p99', p99('cached tile'), cachedTileMs, 'ms', bare);
  targets.check(
    '409 of edits',
    total((status) => status === 409),
    0,
    '',
  );
  targets.check('edits answered and not there', leftovers.lost, 0, '');
  const { before, after, rested } = states;
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  const three = (key: keyof ServerState) => [before, after, rested].map((state) => state[key]);
  const memory = `before, after, rested: RSS ${three('rss').map(mib).join(', ')}; heap ${three('heapUsed').map(mib).join(', ')} MiB`;
  targets.check(
    'heap kept after a rest',
    Math.max(0, rested.heapUsed - before.heapUsed) / 2 ** 20,
    maxHeapGrowthBytes / 2 ** 20,
    'MiB',
    memory,
  );
  const open = `descriptors ${three('descriptors').join(', ')}; resources ${three('resources').join(', ')}`;
  targets.check('descriptors kept after a rest', Math.max(0, rested.descriptors - before.descriptors), 0, '', open);
  targets.check('temporary files left', leftovers.temporaryFiles, 0, '');
  targets.print(
    'event loop',
    `longest delay ${delay.maxMs.toFixed(0)} ms, p99 ${delay.p99Ms.toFixed(0)} ms; clients ${clientDelayMs.toFixed(0)} ms`,
  );
  targets.print('processor time of the server', `${(cpuMs / 1000 / seconds).toFixed(2)} of a processor`);
  console.log(`\n${targets.count - targets.missed} of ${targets.count} targets reached`);
}
