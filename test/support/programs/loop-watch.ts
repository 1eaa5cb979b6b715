import { isMainThread } from 'node:worker_threads';
import { watchLoop } from '../run/loop-stretches.js';

/*
 * Loaded with `--import` into a server process that a test forks: measures how long its event loop goes without a turn. Every message from
 * the test is answered with the stretches since the message before.
 */
if (isMainThread && process.send !== undefined && process.env.WATCH_LOOP === '1') {
  // Children and workers have loops of their own.
  delete process.env.WATCH_LOOP;
  const loop = watchLoop();
  process.on('message', () => process.send?.(loop.take()));
  process.channel?.unref();
}
