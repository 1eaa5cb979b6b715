import { expect, it, vi } from 'vitest';
import { TileQueue } from '../../../src/viewer/stage/tile-queue.js';

const settled = () => new Promise((resolve) => setTimeout(resolve));

function jobOf(source: object, src: string) {
  return { src, source, finish: vi.fn(), fail: vi.fn() };
}

it('cancels tiles of hidden styles, and requests them again when shown', async () => {
  const requests = new Map<string, { signal: AbortSignal; answer: () => void }>();
  const queue = new TileQueue((url, signal) => {
    return new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      requests.set(url, { signal, answer: resolve });
    });
  });
  const [former, next] = [{}, {}];
  const old = Array.from({ length: 8 }, (_, index) => jobOf(former, `former ${index}`));
  queue.setVisibleSources(former);
  for (const job of old) queue.add(job);
  expect([...requests.keys()]).toEqual(old.slice(0, 6).map(({ src }) => src));
  requests.get('former 0')!.answer();
  await settled();
  expect(old[0]!.finish).toHaveBeenCalledOnce();
  expect(requests.has('former 6')).toBe(true);

  queue.setVisibleSources(next);
  expect([1, 2, 3, 4, 5, 6].map((index) => requests.get(`former ${index}`)!.signal.aborted)).not.toContain(false);
  const visible = jobOf(next, 'next');
  queue.add(visible);
  queue.add(jobOf(former, 'former 8'));
  await settled();
  expect([...requests.keys()]).toHaveLength(8);
  requests.get('next')!.answer();
  await settled();
  expect(visible.finish).toHaveBeenCalledOnce();
  for (const job of old) expect(job.fail).not.toHaveBeenCalled();

  requests.clear();
  queue.setVisibleSources(former);
  expect([...requests.keys()]).toHaveLength(6);
  for (const { answer } of requests.values()) answer();
  await settled();
  for (const { answer } of requests.values()) answer();
  await settled();
  for (const job of old) expect(job.finish).toHaveBeenCalledOnce();
});

it('an unavailable tile is reported as failed, and an aborted one is not', async () => {
  let answer = Promise.reject<void>(new Error('gone'));
  const queue = new TileQueue(() => answer);
  const source = {};
  queue.setVisibleSources(source);
  const failing = jobOf(source, 'failing');
  queue.add(failing);
  await settled();
  expect(failing.fail).toHaveBeenCalledOnce();
  answer = new Promise(() => undefined);
  const left = jobOf(source, 'left');
  queue.add(left);
  queue.drop(left);
  await settled();
  expect(left.fail).not.toHaveBeenCalled();
});
