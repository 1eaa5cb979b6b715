/** The program of the child processes that `child-process.ts` starts. It does one task and ends. */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { BadValueError, LargeImageError } from '../../../errors.js';
import { leaveSignalsToParent } from '../../process/child-signals.js';
import { isFullDiskCode } from '../../../core/full-disk.js';
import {
  errorOf,
  maxResidentBytes,
  type AnswerMessage,
  type ChildMessage,
  type ChildTask,
  type PassMessage,
} from './child-process.js';
import { convert } from '../convert.js';
import { createRemoteSource, type Answer, type Question } from './remote-source.js';
import { runDrawing } from '../../sources/sharp/drawing.js';
import { runVipsPass, type VipsPass } from './vips-pass.js';
import { vipsReason } from '../../process/vips-reason.js';

const memoryCheckIntervalMs = 100;
const progressIntervalMs = 100;

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(message, () => resolve());
  });
}

async function sendAndExit(message: ChildMessage): Promise<void> {
  await send(message);
  process.exit(0);
}

/** Asks the parent to run a pass of libvips in another child. Only one pass runs at a time. */
function askForPass(pass: VipsPass, onProgress: (done: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const receive = (message: PassMessage): void => {
      if (message.kind === 'progress') return onProgress(message.done);
      process.off('message', receive);
      if (message.kind === 'done') resolve();
      else reject(errorOf(message));
    };
    process.on('message', receive);
    void send({ kind: 'pass', pass });
  });
}

/** Returns a function that asks the parent for parts of the image that the parent has open. Several questions may be pending. */
function createAskFunction(): (question: Question) => Promise<Answer> {
  const pendingQuestions = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  process.on('message', (message: AnswerMessage) => {
    const pendingQuestion = pendingQuestions.get(message.id);
    pendingQuestions.delete(message.id);
    if ('failure' in message) pendingQuestion?.reject(errorOf(message.failure));
    else pendingQuestion?.resolve(message.answer);
  });
  let questionCount = 0;
  return (question) =>
    new Promise((resolve, reject) => {
      pendingQuestions.set((questionCount += 1), { resolve, reject });
      void send({ kind: 'ask', id: questionCount, question });
    });
}

async function runTask(task: ChildTask): Promise<void> {
  if (task.kind === 'vips') return runVipsPass(task.pass);
  if (task.kind === 'svg') return runDrawing({ ...task.drawing, bytes: await readFile(task.drawing.input) });
  let lastSentMs = 0;
  let highestDone = 0;
  const onProgress = (done: number): void => {
    highestDone = Math.max(highestDone, done);
    if (Date.now() - lastSentMs < progressIntervalMs) return;
    lastSentMs = Date.now();
    void send({ kind: 'progress', done: highestDone });
  };
  await convert(task.conversion, {
    onProgress,
    log: (text) => void send({ kind: 'log', text }),
    runVipsPass: askForPass,
    openRemote: (image) => createRemoteSource(image, createAskFunction()),
  });
}

function failureMessage(error: unknown): ChildMessage {
  if (error instanceof BadValueError) return { kind: 'failed', error: 'value', message: error.message };
  if (error instanceof LargeImageError) return { kind: 'failed', error: 'source', message: error.message };
  const { message = String(error), code } = error as Partial<Error> & { code?: string };
  if (isFullDiskCode(code) || /no space left|quota exceeded/i.test(message)) {
    return { kind: 'failed', error: 'source', message: 'There is no space left for the new file.' };
  }
  if (code !== undefined) return { kind: 'failed', error: 'source', message: `The new file cannot be written (${code}).` };
  return { kind: 'failed', error: 'source', message: `libvips: ${vipsReason(error)}` };
}

leaveSignalsToParent();
process.once('message', (task: ChildTask) => {
  // If the parent ends, nobody needs the result, and this process must remove its files itself.
  process.once('disconnect', () => {
    if (task.kind === 'convert') rmSync(task.conversion.directory, { recursive: true, force: true });
    process.exit(1);
  });
  setInterval(() => {
    if (process.memoryUsage.rss() <= maxResidentBytes) return;
    const mebibytes = Math.round(maxResidentBytes / 2 ** 20);
    void sendAndExit({
      kind: 'failed',
      error: 'source',
      message:
        task.kind === 'svg'
          ? `Drawing this file needs more than ${mebibytes} MiB of memory.`
          : `The conversion of this file needs more than ${mebibytes} MiB of memory.`,
    });
  }, memoryCheckIntervalMs).unref();
  runTask(task).then(
    () => sendAndExit({ kind: 'done' }),
    (error: unknown) => sendAndExit(failureMessage(error)),
  );
});
void send({ kind: 'ready' });
