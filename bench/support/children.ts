import { fork } from 'node:child_process';
import { once } from 'node:events';

/** The resources that a process has used so far. */
export interface Usage {
  /** Current and largest resident set, in bytes. */
  rss: number;
  maxRss: number;
  /** Processor time, milliseconds. */
  cpuMs: number;
}

/** A child process, whose memory nothing else uses. */
export interface Child {
  /** The address at which it listens. */
  url: string;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

/** A child with its own requests. */
export interface Answering extends Child {
  ask(question: string, subject?: string): Promise<unknown>;
}

/** Called by a process that was started here: it sends its address, then answers requests until it is told to stop. */
export async function serveParent(
  url: string,
  questions: Readonly<Record<string, (subject: string) => Promise<unknown>>>,
  close: () => Promise<void>,
): Promise<void> {
  const usage = (): Promise<Usage> => {
    const { user, system } = process.cpuUsage();
    const { rss } = process.memoryUsage();
    // Kilobytes.
    const maxRss = process.resourceUsage().maxRSS * 1024;
    return Promise.resolve({ rss, maxRss, cpuMs: (user + system) / 1000 });
  };
  const answer = async (id: number, question: string, subject: string) => {
    const ask = question === 'usage' ? usage : questions[question];
    process.send!({ id, answer: await ask?.(subject) });
  };
  process.on('message', ([id, question, subject]: [number, string, string]) => void answer(id, question, subject));
  process.send!({ url });
  await once(process, 'disconnect');
  await close();
}

/** Starts a script that calls {@link serveParent}. @param nodeOptions options of Node for the child. */
export async function startChild(
  path: string,
  words: readonly string[],
  nodeOptions: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Answering> {
  const child = fork(path, words, { execArgv: ['--import', 'tsx', ...nodeOptions], env: { ...process.env, ...env } });
  const ended = once(child, 'exit');
  const waiting = new Map<number, (answer: unknown) => void>();
  const ready = new Promise<string>((resolve, reject) => {
    child.on('message', (message: { url: string } | { id: number; answer: unknown }) => {
      if ('url' in message) resolve(message.url);
      else waiting.get(message.id)?.(message.answer);
    });
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code}`)));
  });
  let count = 0;
  const ask = (question: string, subject = '') =>
    new Promise<unknown>((resolve) => {
      const id = count++;
      waiting.set(id, resolve);
      child.send([id, question, subject]);
    });
  const url = await ready;
  return {
    url,
    ask,
    // Each request has one type of answer.
    usage: () => ask('usage') as Promise<Usage>,
    async stop() {
      child.disconnect();
      await ended;
    },
  };
}
