import { vi } from 'vitest';

/**
 * How often work on the event loop lets other work run: with a clock by which each slice is over at once, that is how often it looks whether it is.
 * No machine changes this number, however fast or busy it is.
 */
export async function slicesOf(work: () => Promise<unknown>): Promise<number> {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000));
  const turns = vi.spyOn(globalThis, 'setImmediate');
  try {
    await work();
    return turns.mock.calls.filter(([turn]) => turn.name === 'beginTurn').length;
  } finally {
    clock.mockRestore();
    turns.mockRestore();
  }
}
