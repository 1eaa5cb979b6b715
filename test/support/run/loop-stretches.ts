import { closeSync, existsSync, openSync, readSync } from 'node:fs';

/** The longest stretches of an event loop since it was last asked, in milliseconds. */
export interface LoopStretches {
  /** By the clock: on a busy machine also what other programs took. */
  wall: number;
  /** Of the processor, by the loop's own thread alone; by the clock where the system does not tell. */
  cpu: number;
}

/** The clock as it is, when somebody counts how often others look at it. */
const clock = performance.now.bind(performance);

/** Measures how long the event loop of this process goes without a turn. */
export function watchLoop(): { take(): LoopStretches; stop(): void } {
  const path = `/proc/self/task/${process.pid}/schedstat`;
  const schedule = existsSync(path) ? openSync(path, 'r') : null;
  const buffer = Buffer.alloc(128);
  const cpuMs = (): number =>
    schedule === null
      ? clock()
      : Number(buffer.toString('latin1', 0, readSync(schedule, buffer, 0, 128, 0)).split(' ', 1)[0]) / 1e6;
  let longest: LoopStretches = { wall: 0, cpu: 0 };
  let before = { wall: clock(), cpu: cpuMs() };
  const look = (): void => {
    const now = { wall: clock(), cpu: cpuMs() };
    longest = { wall: Math.max(longest.wall, now.wall - before.wall), cpu: Math.max(longest.cpu, now.cpu - before.cpu) };
    before = now;
  };
  const timer = setInterval(look, 1).unref();
  return {
    take() {
      look();
      const taken = longest;
      longest = { wall: 0, cpu: 0 };
      return taken;
    },
    stop() {
      clearInterval(timer);
      if (schedule !== null) closeSync(schedule);
    },
  };
}
