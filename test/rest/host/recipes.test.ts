import { request } from 'node:http';
import { Readable } from 'node:stream';
import { Router } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { specimenFilesInGridFs } from '../../../examples/gridfs-files.js';
import { closeSpecimenServer, openSpecimenServer, specimenHost, type SpecimenServer } from '../../../examples/host-adapter.js';
import { serveSpecimens } from '../../../examples/middlewares.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { meanColor, plainSlide, startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';
import { listen } from '../../support/hosts/listening.js';

describe('the recipe of middlewares', () => {
  let server: SpecimenServer;
  let url: string;
  const undo: (() => Promise<unknown>)[] = [];
  let specimen: string;
  beforeAll(async () => {
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    server = await openSpecimenServer(database.uri);
    undo.push(() => closeSpecimenServer(server));
    const installation = await serveSpecimens(server);
    undo.push(() => installation.close());
    const listening = await listen(server.app);
    undo.push(() => listening.close());
    ({ url } = listening);
    await server.Badges.create({ secret: 'open-sesame', person: 'keeper' });
    const cabinet = await server.Cabinets.create({ title: 'c', owner: 'keeper', open: false });
    const created = await server.Specimens.create({ title: 's', cabinet: cabinet._id });
    specimen = created.id as string;
    const bytes = await plainSlide({ r: 200, g: 10, b: 10 });
    const file = { name: 's.tif', mimeType: '', size: bytes.length, parent: { type: 'item', itemId: specimen } } as const;
    await specimenHost(server).files.create(file, Readable.from([bytes]));
  });
  afterAll(async () => {
    for (const step of undo.toReversed()) await step();
  });

  const json = { 'Content-Type': 'application/json' };
  const signIn = async (headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ secret: 'open-sesame' });
    const answer = await fetch(`${url}/sign-in`, { method: 'POST', headers: { ...json, ...headers }, body });
    return answer.headers.getSetCookie()[0]!;
  };

  it('shows pictures to a browser that has the cookie of the sign-in, and to no other', async () => {
    const tile = `${url}/specimens/api/item/${specimen}/tiles/zxy/0/0/0`;
    expect((await fetch(tile)).status).toBe(401);
    const cookie = (await signIn()).split(';')[0]!;
    const answer = await fetch(tile, { headers: { Cookie: cookie } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).not.toBeNull();
  });

  it('trusts the proxy about HTTPS', async () => {
    expect(await signIn()).not.toContain('Secure');
    expect(await signIn({ 'X-Forwarded-Proto': 'https' })).toContain('Secure');
  });

  it('reads bodies of the plugin and of the server, and compresses JSON', async () => {
    const cookie = (await signIn()).split(';')[0]!;
    const token = cookie.slice('badge='.length);
    const body = JSON.stringify({ name: 'an annotation' });
    const headers = { ...json, 'Girder-Token': token };
    const response = await fetch(`${url}/specimens/api/annotation?itemId=${specimen}`, { method: 'POST', headers, body });
    expect([response.status, ((await response.json()) as { annotation: { name: string } }).annotation.name]).toEqual([
      200,
      'an annotation',
    ]);
    const echo = await fetch(`${url}/echo`, { method: 'POST', headers: json, body });
    expect(await echo.json()).toEqual({ name: 'an annotation' });
    const encoding = await new Promise<string | undefined>((resolve, reject) => {
      const options = { headers: { 'Accept-Encoding': 'gzip' } };
      const asking = request(`${url}/specimens/api/describe`, options, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.headers['content-encoding']));
      });
      asking.once('error', reject).end();
    });
    expect(encoding).toBe('gzip');
    const unknown = await fetch(`${url}/specimens/api/item/x/y/z/nosuch`);
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([400, expect.stringContaining('json')]);
  });
});

describe('the recipe of GridFS', () => {
  let at: InstalledSpecimens;
  let reads = 0;
  beforeAll(async () => {
    at = await startSpecimens((_host, server) => {
      const files = specimenFilesInGridFs(server);
      return { files: { ...files, read: (...reading) => ((reads += 1), files.read(...reading)) } };
    });
  });
  afterAll(() => at?.close());

  it('serves an image, in few reads', async () => {
    const bytes = await plainSlide({ r: 10, g: 10, b: 200 }, 3000, 2000);
    const { specimen } = await at.addSpecimen('blue.tif', bytes);
    const answer = await at.get(`/item/${specimen}/tiles/thumbnail?width=200`);
    expect(answer.status).toBe(200);
    expect((await meanColor(await answer.arrayBuffer()))[2]).toBeGreaterThan(190);
    expect(reads).toBeLessThanOrEqual(10);
  });
});

describe('the recipe of a router', () => {
  let at: InstalledSpecimens;
  let api: string;
  beforeAll(async () => {
    at = await startSpecimens(({ auth }, server) => {
      const router = Router();
      server.app.use('/:museum', router);
      return { app: router, auth: { ...auth, headerName: 'X-Badge' } };
    });
    api = at.api.replace('/specimens/api', '/museum%22%3E/specimens/api');
  });
  afterAll(() => at?.close());

  const root = '/museum%22%3E/specimens/api';

  it('answers below the path of the router, with addresses that lead there', async () => {
    const { specimen } = await at.addSpecimen('green.tif', await plainSlide({ r: 10, g: 200, b: 10 }));
    const { id } = (await (await fetch(`${api}/iiif/${specimen}/info.json`)).json()) as { id: string };
    expect(new URL(id).pathname).toBe(`${root}/iiif/${specimen}`);
    expect((await fetch(`${id}/full/max/0/default.jpg`)).status).toBe(200);
  });

  it('describes the API there, with the header that the host uses for tokens', async () => {
    const openapi = (await (await fetch(`${api}/describe/openapi.json`)).json()) as { servers: unknown };
    expect(openapi).toMatchObject({ openapi: '3.1.0', servers: [{ url: root }] });
    const swagger = await (await fetch(`${api}/describe`)).json();
    const securityDefinitions = { token: { type: 'apiKey', in: 'header', name: 'X-Badge' } };
    expect(swagger).toMatchObject({ swagger: '2.0', basePath: root, securityDefinitions });
    const page = await (await fetch(`${api}/describe`, { headers: { Accept: 'text/html' } })).text();
    const addresses = [...page.matchAll(/(?:src|href|data-url)="([^"]*)"/g)].map(([, address]) => address!);
    expect(addresses).toHaveLength(6);
    for (const address of addresses) expect((await fetch(new URL(address, api))).status, address).toBe(200);
  });
});
