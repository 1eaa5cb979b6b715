import { mongo } from 'mongoose';
import { describe, expect, it, vi } from 'vitest';
import { DatabaseUnavailableError } from '../../../src/reference-host/database/database-options.js';
import { retryWhileDatabaseIsAway } from '../../../src/reference-host/database/while-away.js';

const uri = 'mongodb://ann:s3cret@127.0.0.1:1/x';
const away = () => new mongo.MongoNetworkError('connect ECONNREFUSED mongodb://ann:s3cret@127.0.0.1:1');

describe('a database that is unreachable while a server starts', () => {
  it('is awaited, which is reported once', async () => {
    const report = vi.fn<(text: string) => void>();
    const work = vi
      .fn<() => Promise<string>>()
      .mockRejectedValueOnce(away())
      .mockRejectedValueOnce(away())
      .mockResolvedValue('done');
    expect(await retryWhileDatabaseIsAway(work, { uri, waitMs: 600_000, reportOutage: report })).toBe('done');
    expect(work).toHaveBeenCalledTimes(3);
    expect(report).toHaveBeenCalledTimes(1);
    expect(report).toHaveBeenCalledWith(expect.stringMatching(/127\.0\.0\.1:1 cannot be reached .*Waiting for it, up to 600 s/));
    expect(report.mock.calls.join()).not.toContain('s3cret');
  });

  it('ends the start with the reason after waiting long enough', async () => {
    const work = () => Promise.reject(away());
    const error = await retryWhileDatabaseIsAway(work, { uri, waitMs: 0, reportOutage: () => undefined }).catch(
      (each: unknown) => each,
    );
    expect(error).toBeInstanceOf(DatabaseUnavailableError);
    expect((error as Error).message).toMatch(/^The database at 127\.0\.0\.1:1 could not be reached: connect ECONNREFUSED/);
    expect((error as Error).message).not.toContain('s3cret');
  });

  it('is not awaited when something else is wrong, or the start is canceled', async () => {
    const waiting = { uri, waitMs: 600_000, reportOutage: () => undefined };
    const refused = new Error('Authentication failed.');
    await expect(retryWhileDatabaseIsAway(() => Promise.reject(refused), waiting)).rejects.toBe(refused);
    const stopping = new AbortController();
    const work = async () => {
      stopping.abort(new Error('Stopping.'));
      throw away();
    };
    await expect(retryWhileDatabaseIsAway(work, { ...waiting, signal: stopping.signal })).rejects.toThrow('Stopping.');
  });
});
