import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { plainSlide, startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';

describe('functions of a host that return wrong values', () => {
  let at: InstalledSpecimens;
  let specimen: string;
  let path: string;
  /** Errors of the log. */
  let errors: string[] = [];
  /** Functions that replace those of the adapter. */
  let faulty: { [K in 'access' | 'auth' | 'files']?: Record<string, () => unknown> } = {};
  beforeAll(async () => {
    at = await startSpecimens((host) => {
      const member = <K extends 'access' | 'auth' | 'files'>(key: K) =>
        new Proxy(host[key], { get: (functions, name: never) => faulty[key]?.[name] ?? functions[name] });
      const ignore = () => {};
      const error = (fields: object) => void errors.push(String((fields as { err?: unknown }).err));
      return {
        access: member('access'),
        auth: member('auth'),
        files: member('files'),
        logger: { debug: ignore, info: ignore, warn: ignore, error },
      };
    });
  });
  afterAll(() => at?.close());
  beforeEach(async () => {
    faulty = {};
    ({ specimen } = await at.addSpecimen('slide.tif', await plainSlide({ r: 9, g: 99, b: 9 })));
    path = `/item/${specimen}/tiles`;
    errors = [];
  });

  it.each<[unknown, string]>([
    ['2', "'2'"],
    [true, 'true'],
    [undefined, 'undefined'],
    [null, 'null'],
    [0.5, '0.5'],
    [3, '3'],
    [Number.NaN, 'NaN'],
    [[2], 'a list'],
    [{ valueOf: () => 2 }, 'an object'],
  ])('deny access if access.level returns %j', async (level, shown) => {
    faulty = { access: { level: async () => level } };
    expect((await at.get(path)).status).toBe(401);
    expect(errors).toEqual([`TypeError: access.level returned ${shown} instead of -1, 0, 1 or 2. This denies access.`]);
  });

  it.each<[number, number]>([
    [-1, 401],
    [0, 200],
    [1, 200],
    [2, 200],
  ])('are told from the level %d', async (level, status) => {
    faulty = { access: { level: async () => level } };
    expect([(await at.get(path)).status, errors]).toEqual([status, []]);
  });

  it.each<[unknown, string]>([
    [null, 'null'],
    [undefined, 'undefined'],
    [[], 'a list'],
    ['all', "'all'"],
  ])('are named in the log if access.filter returns %j', async (filter, shown) => {
    faulty = { access: { filter: async () => filter } };
    expect((await at.get(`/annotation/counts?items=${specimen}`)).status).toBe(500);
    expect(errors).toEqual([`TypeError: access.filter returned ${shown} instead of a MongoDB filter such as {}.`]);
  });

  it.each<[object, string]>([
    [{ id: 'a', admin: false }, 'an object without a list `scopes`: it is undefined'],
    [{ id: 'a', admin: false, scopes: 'core.user_auth' }, "an object without a list `scopes`: it is 'core.user_auth'"],
  ])('are named in the log if auth.verify returns %j', async (caller, problem) => {
    faulty = { auth: { verify: async () => caller } };
    expect((await at.get(path, { Authorization: `Bearer ${randomUUID()}` })).status).toBe(500);
    expect(errors).toEqual([expect.stringContaining(`TypeError: auth.verify returned ${problem}.`)]);
  });

  it.each<[string, Record<string, () => unknown>, string]>([
    [
      'files.localPath returns undefined',
      { localPath: async () => undefined },
      'TypeError: files.localPath returned undefined instead of a path or null.',
    ],
    [
      'files.read rejects',
      { localPath: async () => null, read: () => Promise.reject(new Error('The bucket is closed.')) },
      'Error: files.read failed. The bucket is closed.',
    ],
    [
      'files.read returns bytes',
      { localPath: async () => null, read: async () => Buffer.alloc(9) },
      'Error: files.read failed. It returned an object of the class Buffer instead of a Readable.',
    ],
    [
      'the stream of files.read fails',
      {
        localPath: async () => null,
        read: async () =>
          new Readable({
            read: function (this: Readable) {
              this.destroy(new Error('The disk is gone.'));
            },
          }),
      },
      'Error: files.read failed. The disk is gone.',
    ],
  ])('are named in the log if %s', async (_case, files, problem) => {
    faulty = { files };
    const answer = await at.get(path);
    const body = (await answer.json()) as { message: string };
    expect(body.message).toContain('The bytes of slide.tif could not be read.');
    expect(errors).toEqual([problem]);
  });
});
