import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client, type TestHost } from '../hosts/reference-host.js';

/** A write that is at its step when its process is killed. */
export interface Victim {
  /** `upload:moved`, or `upload:moved#2` for the second time. */
  step: string;
  /** Its name in messages. */
  name: string;
  /** Sends the requests. Absent if the write starts without a request. */
  act?: (client: Client) => Promise<unknown>;
  /** Whether the step belongs to a job or a background task, not to the requests. */
  inBackground?: boolean;
  /** Whether the requests are answered before the step. */
  isAnswered?: boolean;
}

export interface KillOptions {
  /** The program that `buildProgram('host-process', { holdsAtSteps: true })` has built. */
  program: string;
  host: TestHost;
  /** The client that sends the requests. */
  client: Client;
  env?: Readonly<Record<string, string>>;
  words?: readonly string[];
}

/** Work that processes do without a request: recovery from a killed process, its jobs, files that are served in place. */
export const stepsOfProcesses = ['removal:recovered', 'job:released', 'in-place:file', 'in-place:item'] as const;

/** Number of writes that are started at the same time, until each has reached its step. */
const concurrency = 6;
/** How long a write may take to reach its step, in milliseconds. */
const patienceMs = 300_000;

/** Starts a process, brings each write to its step, and then kills the process. @throws if a write does not reach its step. */
export async function killTogether(options: KillOptions, victims: readonly Victim[]): Promise<void> {
  const { program, host, client } = options;
  const keyed = victims.map((victim, key) => ({ ...victim, key: String(key) }));
  const backgroundSteps = keyed.filter((victim) => victim.inBackground === true).map(({ key, step }) => `${key} ${step}`);
  const child = spawn(process.execPath, [program, host.databaseUri, host.dataDirectory, ...(options.words ?? [])], {
    env: { ...process.env, HOLD_AT_STEPS: backgroundSteps.join(','), ...options.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const isOver = ended.then(() => Promise.reject(new Error('The process has exited on its own.')));
  isOver.catch(() => undefined);
  const events = new EventEmitter().setMaxListeners(0);
  const heldSteps = new Map(keyed.map(({ key }) => [key, once(events, `held ${key}`)]));
  const url = once(events, 'address').then(([address]) => String(address));
  createInterface(child.stdout).on('line', (line) => events.emit(line.startsWith('http') ? 'address' : line, line));
  const acts: Promise<unknown>[] = [];
  const bring = async ({ key, step, name, act, isAnswered }: (typeof keyed)[number]) => {
    let outcome: unknown = 'nothing yet';
    let failed = new Promise<never>(() => {});
    let answered: Promise<unknown> = Promise.resolve();
    if (act !== undefined) {
      const address = await Promise.race([url, isOver]);
      const headers: Record<string, string> = backgroundSteps.includes(`${key} ${step}`)
        ? {}
        : { 'hold-at-step': `${key} ${step}` };
      const acting = act(new Client(address, client.token, client.id, headers)).then((answer) => (outcome = answer));
      acts.push(acting.catch(() => undefined));
      if (isAnswered === true) answered = acting;
      failed = acting.then(() => new Promise<never>(() => {}));
    }
    const late = once(AbortSignal.timeout(patienceMs), 'abort').then(() => {
      throw new Error(`${name} has not come to ${step}: ${JSON.stringify(outcome)}`);
    });
    late.catch(() => undefined);
    await Promise.race([Promise.all([heldSteps.get(key), answered]), failed, late, isOver]);
  };
  try {
    const background = keyed.filter((victim) => victim.inBackground === true);
    const queue = keyed.filter((victim) => victim.inBackground !== true);
    const bringSome = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await bring(next);
    };
    await Promise.all([...background.map(bring), ...Array.from({ length: concurrency }, bringSome)]);
  } finally {
    child.kill('SIGKILL');
    await ended;
    await Promise.all(acts);
  }
}
