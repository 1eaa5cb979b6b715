import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { plainSlide, startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';

describe('functions of a host that return wrong values', () => {
  let at: InstalledSpecimens;
  let specimen: string;
  let path: string;
  /** Errors of the log. */
  let errors: string[] = [];
  /** Functions that replace those of the adapter. */
  let faulty: { [K in 'access']?: Record<string, () => unknown> } = {};
  beforeAll(async () => {
    at = await startSpecimens((host) => {
      const member = <K extends 'access'>(key: K) =>
        new Proxy(host[key], { get: (functions, name: never) => faulty[key]?.[name] ?? functions[name] });
      const ignore = () => {};
      const error = (fields: object) => void errors.push(String((fields as { err?: unknown }).err));
      return { access: member('access'), logger: { debug: ignore, info: ignore, warn: ignore, error } };
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
});
