import { describe, expect, it } from 'vitest';
import { InvalidError } from '../../../src/errors.js';
import { checkTransition } from '../../../src/features/jobs/job-status.js';

const allStatuses = [0, 1, 2, 3, 4, 5, 820, 821, 822, 823, 824];

/** The tables of the contract: each status with the allowed previous statuses. */
const tables: Record<string, Record<number, number[]>> = {
  'jobs._local': { 1: [0], 2: [1, 0], 3: [2], 4: [1, 2], 5: [0, 1, 2] },
  worker_handler: {
    // The contract lacks this row, although it names 1 as a previous status. Without the row, no job could reach status 1.
    1: [0],
    2: [0, 1, 820],
    820: [2],
    821: [2, 820],
    822: [2],
    823: [2, 822],
    824: [0, 1, 2],
    4: [820, 821, 822, 823, 824, 1, 2],
    5: [824, 0, 1, 2],
    3: [2, 823],
  },
};

describe('job status transitions', () => {
  for (const [handler, table] of Object.entries(tables)) {
    it.each(allStatuses)(`of ${handler} to %i are those of the contract`, (to) => {
      for (const from of allStatuses) {
        const check = () => checkTransition(handler, from, to);
        if (from === to || table[to]?.includes(from)) expect(check).not.toThrow();
        else if (table[to] === undefined) {
          expect(check).toThrow(new InvalidError(`No valid state transition to '${to}'. Current state is '${from}'.`, 'status'));
        } else
          expect(check).toThrow(new InvalidError(`Invalid state transition to '${to}', Current state is '${from}'.`, 'status'));
      }
    });
  }

  it.each([99, -1, 6, 1.5, 825])('refuse the unknown status %s', (status) => {
    expect(() => checkTransition('jobs._local', 0, status)).toThrow(`Invalid job status ${status}.`);
  });

  it('are those of local jobs without a handler, and those of workers for celery_handler', () => {
    expect(() => checkTransition(null, 2, 824)).toThrow("No valid state transition to '824'");
    expect(() => checkTransition('celery_handler', 2, 824)).not.toThrow();
  });
});
