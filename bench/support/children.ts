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

/** A child process that answers named requests. */
export interface AnsweringChild extends Child {
  ask(question: string, subject?: string): Promise<unknown>;
}

/**
 * Serves the parent of a process that {@link startChild} has started: sends the address, then answers requests until the parent
 * disconnects.
 */
export async function serveParent(
  url: string,
  questions: Readonly<Record<string, (subject: string) => Promise<unknown>>>,
  close: () => Promise<void>,
): Promise<void> {
  const usage = (): Promise<Usage> => {
    const { user, system } = process.cpuUsage();
    const { rss } = process.memoryUsage();
    // The system reports kilobytes.
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
): Promise<AnsweringChild> {
  const child = fork(path, words, { execArgv: ['--import', 'tsx', ...nodeOptions], env: { ...process.env, ...env } });
  const exit = once(child, 'exit');
  const pendingAnswers = new Map<number, (answer: unknown) => void>();
  const ready = new Promise<string>((resolve, reject) => {
    child.on('message', (message: { url: string } | { id: number; answer: unknown }) => {
      if ('url' in message) resolve(message.url);
      else pendingAnswers.get(message.id)?.(message.answer);
    });
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code}`)));
  });
  let nextId = 0;
  const ask = (question: string, subject = '') =>
    new Promise<unknown>((resolve) => {
      const id = nextId++;
      pendingAnswers.set(id, resolve);
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
      await exit;
    },
  };
}
