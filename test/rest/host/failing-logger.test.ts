import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import type { HostLogger } from '../../../src/index.js';
import { mountRoutes, routeDefiner } from '../../../src/larger-host.js';
import { listen } from '../../support/hosts/listening.js';
import { plainSlide, startSpecimens } from '../../support/hosts/installed-specimens.js';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

describe('a failing logger of the host', () => {
  it.each<[string, () => void]>([
    [
      'throws',
      () => {
        throw new Error('ENOSPC');
      },
    ],
    // This is how a logger that writes asynchronously fails.
    ['fails later', () => Promise.reject(new Error('ENOSPC')) as unknown as void],
  ])('breaks neither requests nor the process when it %s', async (_how, log) => {
    let written = 0;
    const count = () => {
      written += 1;
      return log();
    };
    const logger: HostLogger = { debug: count, info: count, warn: count, error: count };
    let isBroken = false;
    const specimens = await startSpecimens((host) => ({
      logger,
      access: {
        ...host.access,
        level: (caller, resource) =>
          isBroken ? Promise.reject(new Error('a bug of the host')) : host.access.level(caller, resource),
      },
    }));
    undo.push(() => specimens.close());
    const { specimen } = await specimens.addSpecimen('slide.tif', await plainSlide({ r: 9, g: 99, b: 9 }));
    const path = `/item/${specimen}/tiles/zxy/0/0/0`;
    expect((await specimens.get(path)).status).toBe(200);
    const { specimen: other } = await specimens.addSpecimen('other.tif', await plainSlide({ r: 9, g: 9, b: 99 }));
    const before = written;
    isBroken = true;
    const failed = await specimens.get(`/item/${other}/tiles`);
    expect(failed.status).toBe(500);
    expect(await failed.json()).toHaveProperty('uid');
    expect(written).toBeGreaterThan(before);
    isBroken = false;
    expect((await specimens.get(path)).status).toBe(200);
  });

  it('does not break responses of routes that the host mounts itself', async () => {
    const fail = () => {
      throw new Error('ENOSPC');
    };
    const failing = routeDefiner<null>()({
      method: 'get',
      path: '/broken',
      summary: 'A route with a bug.',
      access: 'public',
      returns: { schema: {} },
      handle: () => Promise.reject(new Error('a bug of the host')),
    });
    const logger: HostLogger = { debug: fail, info: fail, warn: fail, error: fail };
    const tokenLocations = { cookieName: 'token', headerName: 'Token' };
    const app = express().use(mountRoutes([failing], { context: null, authenticate: () => null, tokenLocations, logger }));
    const listening = await listen(app);
    undo.push(() => listening.close());
    const answer = await fetch(`${listening.url}/broken`);
    expect([answer.status, await answer.json()]).toEqual([500, expect.objectContaining({ type: 'internal' })]);
  });
});
