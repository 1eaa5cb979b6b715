import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** The longest stretches of an event loop since it was last asked, in milliseconds. */
export interface LoopStretches {
  /** By the clock: on a busy machine also what other programs took. */
  wall: number;
  /** Of the processor, by the loop's own thread alone. */
  cpu: number;
}

/*
 * Loaded with `--import` into a server process that a test forks: measures how long its event loop goes without a turn. Every message from
 * the test is answered with the stretches since the message before.
 */
if (isMainThread && process.send !== undefined && process.env.WATCH_LOOP === '1') watch();

function watch(): void {
  // Children and workers have loops of their own.
  delete process.env.WATCH_LOOP;
  const schedule = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const buffer = Buffer.alloc(128);
  const cpuMs = (): number => Number(buffer.toString('latin1', 0, readSync(schedule, buffer, 0, 128, 0)).split(' ', 1)[0]) / 1e6;
  const longest: LoopStretches = { wall: 0, cpu: 0 };
  let before = { wall: performance.now(), cpu: cpuMs() };
  const look = (): void => {
    const now = { wall: performance.now(), cpu: cpuMs() };
    longest.wall = Math.max(longest.wall, now.wall - before.wall);
    longest.cpu = Math.max(longest.cpu, now.cpu - before.cpu);
    before = now;
  };
  setInterval(look, 1).unref();
  process.on('message', () => {
    look();
    process.send?.({ ...longest });
    longest.wall = 0;
    longest.cpu = 0;
  });
  process.channel?.unref();
}
