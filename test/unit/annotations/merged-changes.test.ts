import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { WorkQueue } from '../../../src/core/concurrency/work-queue.js';
import { currentRequestId, runWithRequestId } from '../../../src/core/request-id.js';
import { MergedChanges } from '../../../src/features/annotations/documents/merged-changes.js';

/** Runs work as part of a request with an id. */
function underId<R>(id: string, work: () => R): R {
  const response = { getHeader: () => undefined, setHeader: () => undefined } as unknown as ServerResponse;
  return runWithRequestId({ headers: { 'x-request-id': id } } as unknown as IncomingMessage, response, work);
}

it('makes each of several joined changes under the id of its own request', async () => {
  const edit = async (make: (editing: object) => Promise<void>) => {
    await make({ preload: async () => undefined });
    return { discard: async () => undefined };
  };
  const options = {
    changeQueue: new WorkQueue({ name: 'edits', running: 4 }),
    model: { reserveVersions: async () => 1 },
    store: { edit },
  };
  const merged = new MergedChanges(options as never, {} as never);
  const record = { id: 'a', version: 0, elements: { family: '' } };
  const join = (id: string) => {
    const request = { id: 'a', caller: null };
    const apply = () => Promise.reject(new Error(`made for ${currentRequestId()}`));
    const change = {
      request,
      change: { apply },
      admit: async () => record,
      admittedVersion: record,
      admittedAt: performance.now(),
    };
    return underId(id, () => merged.makeChange(change as never));
  };
  const results = await Promise.allSettled(['one', 'two', 'three'].map(join));
  const reasons = results.map((each) => (each.status === 'rejected' ? (each.reason as Error).message : each.status));
  expect(reasons).toEqual(['made for one', 'made for two', 'made for three']);
});
