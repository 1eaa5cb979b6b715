import { describe, expect, it } from 'vitest';
import { SharedWork } from '../../../../src/tilesource/process/shared-work.js';

/** Work that ends when it is told to. */
function manual() {
  const started: { signal: AbortSignal; finish: (value: string) => void; fail: (error: Error) => void }[] = [];
  const work = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      started.push({ signal, finish: resolve, fail: reject });
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  return { started, work };
}

describe('SharedWork', () => {
  it('runs once for simultaneous callers, and again later', async () => {
    const shared = new SharedWork<string>();
    const { started, work } = manual();
    const calls = [shared.join('a', work), shared.join('a', work), shared.join('b', work)];
    expect(started).toHaveLength(2);
    started[0]!.finish('one');
    started[1]!.finish('two');
    expect(await Promise.all(calls)).toEqual(['one', 'one', 'two']);
    const again = shared.join('a', work);
    expect(started).toHaveLength(3);
    started[2]!.finish('three');
    expect(await again).toBe('three');
  });

  it('continues while someone waits, stops when nobody does, and starts again later', async () => {
    const shared = new SharedWork<string>();
    const { started, work } = manual();
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = [shared.join('a', work, first.signal), shared.join('a', work, second.signal)];
    first.abort(new Error('first left'));
    await expect(waiting[0]).rejects.toThrow('first left');
    expect(started[0]!.signal.aborted).toBe(false);
    second.abort(new Error('second left'));
    await expect(waiting[1]).rejects.toThrow('second left');
    expect(started[0]!.signal.aborted).toBe(true);
    const later = shared.join('a', work);
    expect(started).toHaveLength(2);
    started[1]!.finish('done');
    expect(await later).toBe('done');
    await expect(shared.join('a', work, first.signal)).rejects.toThrow('first left');
    expect(started).toHaveLength(2);
  });

  it('does not abort finished work', async () => {
    const shared = new SharedWork<string>();
    const { started, work } = manual();
    const waiting = shared.join('a', work);
    started[0]!.finish('done');
    expect(await waiting).toBe('done');
    expect(started[0]!.signal.aborted).toBe(false);
  });

  it('reports a failure to all waiting callers, and tries again for the next', async () => {
    const shared = new SharedWork<string>();
    const { started, work } = manual();
    const calls = [shared.join('a', work), shared.join('a', work)];
    started[0]!.fail(new Error('broken'));
    for (const result of await Promise.allSettled(calls)) expect(result).toMatchObject({ reason: { message: 'broken' } });
    const again = shared.join('a', work);
    started[1]!.finish('whole');
    expect(await again).toBe('whole');
  });
});
