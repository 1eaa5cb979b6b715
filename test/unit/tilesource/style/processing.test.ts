/** Tasks that may take long leave a thread for files and for short tasks. */
import { EventEmitter, once } from 'node:events';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { runProcessing } from '../../../../src/tilesource/process/processing.js';

const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4;
const longAtOnce = Math.max(1, Math.min(threads - 1, availableParallelism() + 1));

it('starts a short task while the maximum number of long ones is running, but no further long one', async () => {
  const started: string[] = [];
  const control = new EventEmitter();
  const end = once(control, 'end');
  const piece = (name: string) => async () => {
    started.push(name);
    await end;
  };
  const long = Array.from({ length: longAtOnce + 1 }, () => runProcessing(piece('long'), undefined, 2 ** 21));
  const unknown = runProcessing(piece('unknown'));
  const small = [1, 2].map((each) => runProcessing(piece(`small ${each}`), undefined, 256 * 256));
  await new Promise(setImmediate);
  const smallAtOnce = Math.min(threads, longAtOnce + 1) - longAtOnce;
  expect(started).toEqual([...Array.from({ length: longAtOnce }, () => 'long'), ...['small 1', 'small 2'].slice(0, smallAtOnce)]);
  control.emit('end');
  await Promise.all([...long, unknown, ...small]);
  expect(started).toHaveLength(longAtOnce + 4);
});
