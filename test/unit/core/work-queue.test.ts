import { describe, expect, it } from 'vitest';
import { WorkQueue } from '../../../src/core/concurrency/work-queue.js';

/** Work that continues until it is told to end, and records when it begins. */
function pieces(queue: WorkQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    ask(name: string, options: Parameters<WorkQueue['run']>[1] = {}) {
      const running = queue.run(async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return name;
      }, options);
      running.catch(() => undefined);
      return running;
    },
    /** Ends a task, and waits until the next one has begun. */
    async end(name: string) {
      ends.get(name)!();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('a work queue', () => {
  it('runs up to the limit at a time, and the next when one has ended or failed', async () => {
    const queue = new WorkQueue({ name: 'things', running: 2 });
    const work = pieces(queue);
    const requests = ['a', 'b', 'c'].map((name) => work.ask(name));
    expect(work.begun).toEqual(['a', 'b']);
    expect([queue.runningCount, queue.waitingCount]).toEqual([2, 1]);
    await work.end('b');
    expect(work.begun).toEqual(['a', 'b', 'c']);
    await work.end('a');
    await work.end('c');
    expect(await Promise.all(requests)).toEqual(['a', 'b', 'c']);
    await expect(queue.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect([queue.runningCount, queue.waitingCount]).toEqual([0, 0]);
  });

  it('lets callers take turns, each with the oldest request first', async () => {
    const work = pieces(new WorkQueue({ name: 'things', running: 1 }));
    void work.ask('first', { caller: 'greedy' });
    for (const name of ['g1', 'g2', 'g3']) void work.ask(name, { caller: 'greedy' });
    for (const name of ['m1', 'm2']) void work.ask(name, { caller: 'modest' });
    for (const name of ['first', 'g1', 'm1', 'g2', 'm2']) await work.end(name);
    expect(work.begun).toEqual(['first', 'g1', 'm1', 'g2', 'm2', 'g3']);
  });

  it('refuses requests when it is full, with Retry-After', async () => {
    const work = pieces(new WorkQueue({ name: 'things', running: 1, waiting: 2 }));
    for (const name of ['a', 'b', 'c']) void work.ask(name);
    await expect(work.ask('d')).rejects.toMatchObject({
      code: 'busy',
      retryAfterSeconds: 1,
      message: expect.stringMatching(/things/),
    });
    void work.ask('e', { isNeverRefused: true });
    for (const name of ['a', 'b', 'c']) await work.end(name);
    expect(work.begun).toEqual(['a', 'b', 'c', 'e']);
  });

  it('evicts the request of the busiest client when the queue is full', async () => {
    const work = pieces(new WorkQueue({ name: 'things', running: 1, waiting: 3 }));
    void work.ask('first', { caller: 'greedy' });
    const [, , last] = ['g1', 'g2', 'g3'].map((name) => work.ask(name, { caller: 'greedy' }));
    void work.ask('m1', { caller: 'modest' });
    await expect(last).rejects.toMatchObject({ code: 'busy' });
    for (const name of ['first', 'g1', 'm1']) await work.end(name);
    expect(work.begun).toEqual(['first', 'g1', 'm1', 'g2']);
  });

  it('never starts abandoned work, and gives its slot to others', async () => {
    const queue = new WorkQueue({ name: 'things', running: 1, waiting: 1 });
    const work = pieces(queue);
    void work.ask('a');
    const aborting = new AbortController();
    const waiting = work.ask('b', { signal: aborting.signal });
    aborting.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(work.ask('c', { signal: aborting.signal })).rejects.toThrow('gone');
    expect(queue.waitingCount).toBe(0);
    void work.ask('d');
    await work.end('a');
    expect(work.begun).toEqual(['a', 'd']);
  });
});
