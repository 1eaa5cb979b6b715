import { closeSync, existsSync, openSync, readSync } from 'node:fs';

/** The longest times that an event loop was blocked since the last call, in milliseconds. */
export interface LoopStretches {
  /** Elapsed time. On a busy machine it includes the time of other programs. */
  wall: number;
  /** Processor time of the loop's thread only; elapsed time if the system does not report it. */
  cpu: number;
}

/** The original clock, because tests may replace the clock to count how often it is read. */
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
  const measure = (): void => {
    const now = { wall: clock(), cpu: cpuMs() };
    longest = { wall: Math.max(longest.wall, now.wall - before.wall), cpu: Math.max(longest.cpu, now.cpu - before.cpu) };
    before = now;
  };
  const timer = setInterval(measure, 1).unref();
  return {
    take() {
      measure();
      const result = longest;
      longest = { wall: 0, cpu: 0 };
      return result;
    },
    stop() {
      clearInterval(timer);
      if (schedule !== null) closeSync(schedule);
    },
  };
}
