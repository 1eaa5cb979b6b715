import { mongo } from 'mongoose';
import { describe, expect, it } from 'vitest';
import { isCollision, isDatabaseOutage, isTemporary, outageErrorOf } from '../../../src/core/database/outage.js';

const withCode = (code: string) => Object.assign(new Error(`${code}: no such luck, write '/secret'`), { code });
const noResult = {} as mongo.BulkWriteResult;
const wrapped = (cause: unknown) => new Error('outer', { cause: new Error('middle', { cause }) });

describe('temporary failures', () => {
  it.each([
    new mongo.MongoNetworkError('connection 3 to 127.0.0.1:27017 closed'),
    new mongo.MongoServerSelectionError('connect ECONNREFUSED', { servers: new Map() } as never),
    new mongo.MongoClientClosedError(),
    new mongo.MongoWriteConcernError({ ok: 1, writeConcernError: { code: 91, errmsg: 'shutdown in progress' } }),
    new mongo.MongoServerError({ message: 'interrupted at shutdown', code: 11600 }),
    new mongo.MongoServerError({ message: 'not primary', code: 10107 }),
    new mongo.MongoServerError({ message: 'cursor id 5997431996160224 not found', code: 43 }),
    new mongo.MongoServerError({ message: 'unexpected EOF', code: 1 }),
    new mongo.MongoServerError({ message: 'the database system is in recovery mode', code: 1 }),
    new mongo.MongoServerError({ message: 'terminating connection due to unexpected postmaster exit', code: 1 }),
    new mongo.MongoServerError({
      message: 'msg_find.go:43: pool.go:90: failed to connect to `user=postgres`:\n\tdial error',
      code: 1,
    }),
    new mongo.MongoBulkWriteError({ message: 'the database system is not yet accepting connections', code: 1 }, noResult),
    Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' }),
    new mongo.MongoBulkWriteError(new mongo.MongoNetworkError('read ECONNRESET'), noResult),
    new mongo.MongoBulkWriteError({ message: 'interrupted at shutdown', code: 11600 }, noResult),
    Object.assign(new Error('Operation `items.findOne()` buffering timed out after 10000ms'), { name: 'MongooseError' }),
  ])('include failures of the database: %s', (error) => {
    for (const thrown of [error, wrapped(error)]) {
      expect(isDatabaseOutage(thrown)).toBe(true);
      expect(outageErrorOf(thrown)).toMatchObject({
        code: 'unavailable',
        message: 'The database cannot be reached at the moment. Try again later.',
      });
    }
  });

  it.each([
    ['ECONNRESET', 'read'],
    ['EPIPE', 'write'],
    ['ETIMEDOUT', 'read'],
  ])('include a socket of the driver that ends with %s, but not as the cause of another error', (code, syscall) => {
    const error = Object.assign(withCode(code), { syscall });
    expect(isDatabaseOutage(error)).toBe(true);
    expect(isDatabaseOutage(wrapped(error))).toBe(false);
    expect(isDatabaseOutage(withCode(code))).toBe(false);
  });

  it.each([
    ['ENOSPC', 'storage-full'],
    ['EDQUOT', 'storage-full'],
    ['EROFS', 'unavailable'],
    ['EACCES', 'unavailable'],
    ['EMFILE', 'unavailable'],
  ])('include failures of the disk: %s', (code, expected) => {
    const error = outageErrorOf(wrapped(withCode(code)));
    expect(error?.code).toBe(expected);
    expect(error?.message).not.toContain('secret');
    expect(isDatabaseOutage(withCode(code))).toBe(false);
  });

  it.each([
    new mongo.MongoServerError({ message: 'deadlock detected', code: 16908292 }),
    new mongo.MongoServerError({ message: 'Write conflict', code: 112 }),
    new mongo.MongoBulkWriteError({ message: 'deadlock detected', code: 16908292 }, noResult),
  ])('include collisions with another write: %s', (error) => {
    for (const thrown of [error, wrapped(error)]) {
      expect(isCollision(thrown)).toBe(true);
      expect(isDatabaseOutage(thrown)).toBe(false);
      expect(outageErrorOf(thrown)).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('changing the same data'),
      });
      expect(isTemporary(thrown)).toBe(true);
    }
  });

  it.each([
    new Error('deadlock detected'),
    new Error('boom'),
    withCode('ENOENT'),
    new mongo.MongoServerError({ message: 'duplicate', code: 11000 }),
    new mongo.MongoServerError({ message: 'duplicate key: { name: "the database system is starting up" }', code: 11000 }),
    new mongo.MongoServerError({ message: 'not a JSON document: unexpected EOF in "x"', code: 1 }),
    new mongo.MongoBulkWriteError({ message: 'duplicate', code: 11000 }, noResult),
    null,
    'text',
  ])('do not include mistakes of the program: %s', (error) => {
    expect(outageErrorOf(error)).toBeNull();
    expect(isDatabaseOutage(error)).toBe(false);
    expect(isTemporary(error)).toBe(false);
    expect(isCollision(error)).toBe(false);
  });

  it('are searched without a loop through circular causes', () => {
    const error = new Error('round');
    error.cause = error;
    expect(outageErrorOf(error)).toBeNull();
  });
});
