/** The program of the processes that `child-process.ts` starts: does one task and ends. */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { BadValueError, LargeImageError } from '../../errors.js';
import { leaveSignalsToParent } from '../../core/concurrency/left-to-parent.js';
import { isFullDisk } from '../../core/database/outage.js';
import {
  errorOf,
  maxResidentBytes,
  type AnswerMessage,
  type ChildMessage,
  type ChildTask,
  type PassMessage,
} from './child-process.js';
import { convert } from './convert.js';
import { remoteSource, type Answer, type Question } from './remote-source.js';
import { runDrawing } from '../sources/sharp/drawing.js';
import { runVipsPass, type VipsPass } from './vips-pass.js';
import { vipsReason } from '../process/vips-reason.js';

const memoryCheckMs = 100;
const progressMs = 100;

function say(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(message, () => resolve());
  });
}

async function end(message: ChildMessage): Promise<void> {
  await say(message);
  process.exit(0);
}

/** Has whoever started this process run a pass of libvips beside it. One is asked for at a time. */
function askForPass(pass: VipsPass, progress: (done: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const hear = (message: PassMessage): void => {
      if (message.kind === 'progress') return progress(message.done);
      process.off('message', hear);
      if (message.kind === 'done') resolve();
      else reject(errorOf(message));
    };
    process.on('message', hear);
    void say({ kind: 'pass', pass });
  });
}

/** Asks whoever started this process about the image that is open there. */
function asker(): (question: Question) => Promise<Answer> {
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  process.on('message', (message: AnswerMessage) => {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if ('failure' in message) asked?.reject(errorOf(message.failure));
    else asked?.resolve(message.answer);
  });
  let asked = 0;
  return (question) =>
    new Promise((resolve, reject) => {
      waiting.set((asked += 1), { resolve, reject });
      void say({ kind: 'ask', id: asked, question });
    });
}

async function run(task: ChildTask): Promise<void> {
  if (task.kind === 'vips') return runVipsPass(task.pass);
  if (task.kind === 'svg') return runDrawing({ ...task.drawing, bytes: await readFile(task.drawing.input) });
  let saidAt = 0;
  let most = 0;
  const progress = (done: number): void => {
    most = Math.max(most, done);
    if (Date.now() - saidAt < progressMs) return;
    saidAt = Date.now();
    void say({ kind: 'progress', done: most });
  };
  await convert(task.task, {
    progress,
    log: (text) => void say({ kind: 'log', text }),
    vipsPass: askForPass,
    remote: (image) => remoteSource(image, asker()),
  });
}

function describe(error: unknown): ChildMessage {
  if (error instanceof BadValueError) return { kind: 'failed', error: 'value', message: error.message };
  if (error instanceof LargeImageError) return { kind: 'failed', error: 'source', message: error.message };
  const { message = String(error), code } = error as Partial<Error> & { code?: string };
  if (isFullDisk(code) || /no space left|quota exceeded/i.test(message)) {
    return { kind: 'failed', error: 'source', message: 'There is no space left for the file that is made.' };
  }
  if (code !== undefined)
    return { kind: 'failed', error: 'source', message: `The file that is made cannot be written (${code}).` };
  return { kind: 'failed', error: 'source', message: `libvips: ${vipsReason(error)}` };
}

leaveSignalsToParent();
process.once('message', (task: ChildTask) => {
  // Whoever started this is gone: nobody wants the result, and nobody else removes what there is of it.
  process.once('disconnect', () => {
    if (task.kind === 'convert') rmSync(task.task.directory, { recursive: true, force: true });
    process.exit(1);
  });
  setInterval(() => {
    if (process.memoryUsage.rss() <= maxResidentBytes) return;
    const mebibytes = Math.round(maxResidentBytes / 2 ** 20);
    void end({
      kind: 'failed',
      error: 'source',
      message:
        task.kind === 'svg'
          ? `Drawing this file needs more than ${mebibytes} MiB of memory.`
          : `The conversion of this file needs more than ${mebibytes} MiB of memory.`,
    });
  }, memoryCheckMs).unref();
  run(task).then(
    () => end({ kind: 'done' }),
    (error: unknown) => end(describe(error)),
  );
});
void say({ kind: 'ready' });
