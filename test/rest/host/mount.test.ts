import { request as httpRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BusyError, type Caller } from '../../../src/index.js';
import {
  boolean,
  id,
  integer,
  json,
  mountRoutes,
  number,
  oneOf,
  Reply,
  required,
  routeDefiner,
  text,
  TooOftenError,
  withDefault,
} from '../../../src/larger-host.js';
import { until } from '../../support/run/until.js';

interface Context {
  started: number;
  aborted: string[];
}
const defineRoute = routeDefiner<Context>();
const open = { access: 'public', returns: { schema: {} }, summary: 'A route under test.' } as const;

/** The length of the first chunk; the rest is not read. */
async function firstOf(body: Readable): Promise<number> {
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) return chunk.length;
  return 0;
}

const routes = [
  defineRoute({
    ...open,
    method: 'get',
    path: '/thing/:thingId',
    params: { thingId: required(id()) },
    query: {
      limit: withDefault(integer({ minimum: 0 }), 50),
      ratio: number(),
      flag: boolean(),
      word: oneOf(['one', 'two']),
      data: json({ kind: 'object' }),
      list: json({ kind: 'array' }),
    },
    handle: ({ params, query }) => ({ params, query }),
  }),
  defineRoute({ ...open, method: 'get', path: '/thing/fixed', handle: () => 'fixed' }),
  defineRoute({ ...open, method: 'put', path: '/thing', query: { name: required(text()) }, handle: ({ query }) => query }),
  defineRoute({ ...open, method: 'post', path: '/body', body: 'json-object', bodyName: 'metadata', handle: ({ body }) => body }),
  defineRoute({ ...open, method: 'post', path: '/unread', body: 'stream', handle: () => 'not read' }),
  defineRoute({ ...open, method: 'post', path: '/beginning', body: 'stream', handle: ({ body }) => firstOf(body) }),
  defineRoute({ ...open, method: 'post', path: '/small', body: 'text', maxBodyBytes: 10, handle: ({ body }) => body }),
  defineRoute({
    ...open,
    method: 'get',
    path: '/old',
    query: { n: integer() },
    parameterMessages: 'incorrect-type',
    handle: ({ query }) => query,
  }),
  defineRoute({ ...open, method: 'get', path: '/busy', handle: () => Promise.reject(new BusyError('Everybody is here.', 1.2)) }),
  defineRoute({ ...open, method: 'get', path: '/often', handle: () => Promise.reject(new TooOftenError('Again?', 0)) }),
  defineRoute({ ...open, method: 'get', path: '/broken', handle: () => Promise.reject(new Error('secret words')) }),
  defineRoute({
    ...open,
    method: 'get',
    path: '/dates',
    handle: () => ({ at: new Date('2026-01-02T03:04:05.600Z'), whole: new Date(0), none: undefined }),
  }),
  defineRoute({ ...open, method: 'get', path: '/who', scope: 'core.data.read', handle: ({ caller }) => caller?.id ?? null }),
  defineRoute({
    ...open,
    method: 'get',
    path: '/picture',
    scope: 'core.data.read',
    cookie: true,
    handle: ({ caller }) => caller?.id ?? null,
  }),
  defineRoute({
    ...open,
    access: 'user',
    scope: 'core.data.write',
    method: 'get',
    path: '/user',
    handle: ({ caller }) => caller?.id,
  }),
  defineRoute({ ...open, access: 'token', method: 'get', path: '/token', handle: ({ caller }) => caller?.scopes }),
  defineRoute({ ...open, access: 'admin', method: 'get', path: '/admin', handle: () => 'admin' }),
  defineRoute({
    ...open,
    method: 'get',
    path: '/slow',
    handle: ({ signal }, context) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          context.aborted.push('slow');
          resolve(null);
        });
        context.started++;
      }),
  }),
  defineRoute({
    ...open,
    method: 'get',
    path: '/stream',
    handle: () => Reply.stream(Readable.from([Buffer.from('a'), Buffer.from('b')]), 'text/plain'),
  }),
];

const callers: Record<string, Caller> = {
  full: { id: 'u1', admin: false, scopes: ['core.user_auth'] },
  admin: { id: 'u2', admin: true, scopes: ['core.user_auth'] },
  reader: { id: 'u3', admin: true, scopes: ['core.data.read'] },
  nobody: { id: null, admin: false, scopes: ['core.anonymous_session'] },
};

describe('mounted routes', () => {
  const context: Context = { started: 0, aborted: [] };
  let server: Server;
  let base: string;

  beforeAll(async () => {
    const app = express();
    const router = mountRoutes(routes, {
      context,
      authenticate: (token) => callers[token] ?? null,
      tokenLocations: { cookieName: 'girderToken', headerName: 'Girder-Token' },
    });
    app.use('/api', router);
    app.use((request, response) => response.status(404).json({ passedOnAs: request.method }));
    server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const call = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(base + path, init);
    const body = await response.text();
    return { status: response.status, headers: response.headers, body: body === '' ? undefined : (JSON.parse(body) as never) };
  };
  const thing = '/thing/0123456789abcdef01234567';

  it('parses declared parameters, fills in defaults and drops the rest', async () => {
    const { body } = await call(`${thing}?limit=7&ratio=1.5e2&flag=YES&word=two&data={"a":1}&list=[2]&other=x`);
    expect(body).toEqual({
      params: { thingId: '0123456789abcdef01234567' },
      query: { limit: 7, ratio: 150, flag: true, word: 'two', data: { a: 1 }, list: [2] },
    });
    expect((await call(thing)).body).toEqual({ params: { thingId: '0123456789abcdef01234567' }, query: { limit: 50 } });
  });

  it.each([
    ['/thing?x=1', 'PUT', 'Parameter "name" is required.'],
    [`${thing}?limit=x`, 'GET', 'Invalid value for integer parameter limit: x.'],
    [`${thing}?limit=1.5`, 'GET', 'Invalid value for integer parameter limit: 1.5.'],
    [`${thing}?limit=99999999999999999999`, 'GET', 'Invalid value for integer parameter limit: 99999999999999999999.'],
    [`${thing}?limit=-1`, 'GET', 'Invalid value for parameter limit: -1. Allowed values: at least 0.'],
    [`${thing}?ratio=1e400`, 'GET', 'Invalid value for numeric parameter ratio: 1e400.'],
    [`${thing}?ratio=NaN`, 'GET', 'Invalid value for numeric parameter ratio: NaN.'],
    [`${thing}?word=three`, 'GET', 'Invalid value for word: "three". Allowed values: one, two.'],
    [`${thing}?data=[]`, 'GET', 'Parameter data must be a JSON object.'],
    [`${thing}?data={`, 'GET', 'Parameter data must be valid JSON.'],
    [`${thing}?list={}`, 'GET', 'Parameter list must be a JSON array.'],
    [`${thing}?limit=1&limit=2`, 'GET', 'Parameter "limit" must not be specified multiple times.'],
    [`${thing}?a=1&a=2`, 'GET', 'Parameter "a" must not be specified multiple times.'],
    ['/old?n=x', 'GET', '"n" parameter is an incorrect type.'],
    ['/thing/%ff', 'GET', 'The path is not valid percent-encoded UTF-8.'],
  ])('answers %s (%s) by 400: %s', async (path, method, message) => {
    const { status, body } = await call(path, { method });
    expect({ status, body }).toMatchObject({ status: 400, body: { message, type: 'rest' } });
  });

  const mebibyte = 2 ** 20;
  it.each([
    ['too long, unannounced', '/small', 'Transfer-Encoding: chunked', 8, 413],
    ['too long, announced', '/small', `Content-Length: ${8 * mebibyte}`, 8, 413],
    [
      'of a form that is too long',
      '/small',
      'Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked',
      40,
      413,
    ],
    ['of which the route reads the beginning', '/beginning', `Content-Length: ${8 * mebibyte}`, 8, 200],
    ['that the route does not read', '/unread', `Content-Length: ${8 * mebibyte}`, 8, 200],
  ])('answers a body %s, and another request on the same connection', async (_what, path, headers, mebibytes, status) => {
    const { hostname, port } = new URL(base);
    const socket = connect({ host: hostname, port: Number(port) });
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.on('error', (error) => (received += String(error)));
    // A client that reads only when everything is sent, as most do.
    socket.write(`POST /api${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
    const isChunked = headers.includes('chunked');
    const part = Buffer.concat([
      Buffer.from(isChunked ? `${mebibyte.toString(16)}\r\n` : ''),
      Buffer.alloc(mebibyte, 'a'),
      Buffer.from(isChunked ? '\r\n' : ''),
    ]);
    for (let sent = 0; sent < mebibytes; sent += 1) socket.write(part);
    socket.write(`${isChunked ? '0\r\n\r\n' : ''}GET /api/thing/fixed HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until('both are answered', () => received.includes('"fixed"') || /(?<!-)Error/.test(received));
    socket.destroy();
    expect(received.match(/HTTP\/1.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200']);
  });

  it('reports a malformed id as a validation error of the field id', async () => {
    expect(await call('/thing/zzz')).toMatchObject({
      status: 400,
      body: { message: 'Invalid ObjectId: zzz', type: 'validation', field: 'id' },
    });
  });

  it('ignores operators in brackets, which are names of other parameters', async () => {
    const { body } = await call(`${thing}?limit[$gt]=1&data[$where]=1`);
    expect(body).toMatchObject({ query: { limit: 50 } });
  });

  it('prefers literal segments over parameters regardless of the order of the routes', async () => {
    expect((await call('/thing/fixed')).body).toBe('fixed');
  });

  it.each(['//thing//fixed', '/thing/fixed/', '/THING/Fixed'])('serves %s as /thing/fixed', async (path) => {
    expect((await call(path)).body).toBe('fixed');
  });

  it.each(['/unknown', '/unknown/%ff', '/thing/%69/x', '/body'])('leaves GET %s to the host', async (path) => {
    expect(await call(path)).toMatchObject({ status: 404, body: { passedOnAs: 'GET' } });
  });

  it('answers OPTIONS by the methods of a path, and leaves other paths to the host', async () => {
    expect((await call('/thing/fixed', { method: 'OPTIONS' })).headers.get('allow')).toBe('HEAD, GET');
    expect(await call('/unknown', { method: 'OPTIONS' })).toMatchObject({ status: 404, body: { passedOnAs: 'OPTIONS' } });
  });

  it('reads parameters from urlencoded and multipart forms, and refuses duplicates', async () => {
    const form = { method: 'PUT', body: new URLSearchParams({ name: 'a form' }) };
    expect((await call('/thing', form)).body).toEqual({ name: 'a form' });
    const multipart = new FormData();
    multipart.set('name', 'parts');
    expect((await call('/thing', { method: 'PUT', body: multipart })).body).toEqual({ name: 'parts' });
    expect((await call('/thing?name=b', form)).status).toBe(400);
    const broken = { method: 'PUT', body: 'no parts', headers: { 'content-type': 'multipart/form-data; boundary=x' } };
    expect(await call('/thing', broken)).toMatchObject({ status: 400, body: { type: 'rest' } });
  });

  it('refuses a multipart form whose file ends halfway', async () => {
    const body = '--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nhalf';
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    expect(await call('/thing', { method: 'PUT', body, headers })).toMatchObject({ status: 400, body: { type: 'rest' } });
    // An unhandled error would have ended the process by now.
    expect((await call('/thing?name=after', { method: 'PUT' })).body).toEqual({ name: 'after' });
  });

  it('handles POST with an override header as that method, and passes on other requests unchanged', async () => {
    const headers = { 'X-HTTP-Method-Override': 'PUT' };
    const body = new URLSearchParams({ name: 'overridden' });
    expect((await call('/thing', { method: 'POST', headers, body })).body).toEqual({ name: 'overridden' });
    expect(await call('/unknown', { method: 'POST', headers })).toMatchObject({ status: 404, body: { passedOnAs: 'POST' } });
  });

  it.each([
    ['', 'JSON parameter metadata must be passed in request body.'],
    ['{', 'Invalid JSON passed in request body.'],
    ['[1]', 'Parameter metadata must be a JSON object.'],
    ['null', 'Parameter metadata must be a JSON object.'],
    ['{"a": NaN}', 'Error: "NaN" is not valid JSON.'],
    ['{"NaN": -Infinity}', 'Error: "-Infinity" is not valid JSON.'],
  ])('answers the JSON body %j by 400: %s', async (body, message) => {
    expect(await call('/body', { method: 'POST', body })).toMatchObject({ status: 400, body: { message, type: 'rest' } });
  });

  it('answers bodies that are not UTF-8 by 400 and too long ones by 413', async () => {
    expect(await call('/body', { method: 'POST', body: Buffer.from([0x7b, 0xff, 0x7d]) })).toMatchObject({ status: 400 });
    expect(await call('/small', { method: 'POST', body: '12345678901' })).toMatchObject({ status: 413 });
    expect((await call('/small', { method: 'POST', body: '"ten long"' })).body).toBe('"ten long"');
  });

  it.each([
    ['Authorization', 'Bearer full'],
    ['authorization', 'bearer full'],
    ['Girder-Token', 'full'],
  ])('finds the token in the header %s: %s', async (name, value) => {
    expect((await call('/who', { headers: { [name]: value } })).body).toBe('u1');
  });

  it('finds the token in the parameter, and in the cookie only if the route allows it', async () => {
    expect((await call('/who?token=full')).body).toBe('u1');
    const headers = { Cookie: 'a=b; girderToken=full' };
    expect((await call('/who', { headers })).body).toBe(null);
    expect((await call('/picture', { headers })).body).toBe('u1');
    expect((await call('/who', { headers: { 'Girder-Token': '' } })).body).toBe(null);
  });

  it('finds the token where RFC 6750 allows it, and refuses two tokens', async () => {
    expect((await call('/who?access_token=full')).body).toBe('u1');
    const form = new URLSearchParams({ access_token: 'full', name: 'x' });
    expect((await call('/thing', { method: 'PUT', body: form })).body).toEqual({ name: 'x' });
    const headers = { Authorization: 'Bearer full' };
    expect(await call('/who?access_token=admin', { headers })).toMatchObject({
      status: 400,
      body: { message: 'The request has two tokens. Send only one: as Authorization: Bearer, or as access_token.', type: 'rest' },
    });
  });

  it.each([
    ['/picture?token=wrong', { 'Girder-Token': 'full', Cookie: 'girderToken=full' }, null],
    ['/picture', { 'Girder-Token': 'wrong', Authorization: 'Bearer full', Cookie: 'girderToken=full' }, null],
    ['/picture', { Authorization: 'Bearer wrong', Cookie: 'girderToken=full' }, null],
    ['/picture?token=full', { 'Girder-Token': 'wrong', Authorization: 'Bearer reader' }, 'u1'],
    ['/picture', { 'Girder-Token': 'full', Authorization: 'Bearer reader' }, 'u1'],
    ['/picture', { Authorization: 'Bearer full', Cookie: 'girderToken=reader' }, 'u1'],
    ['/picture', { Authorization: 'Basic dTpw', Cookie: 'girderToken=full' }, 'u1'],
    ['/picture', { Authorization: 'Digest realm="x", nonce="y"' }, null],
    ['/picture', { Authorization: 'Bearer', Cookie: 'girderToken=' }, null],
    ['/picture?token=', { Cookie: 'other=x; girderToken="full"' }, 'u1'],
  ])('uses only the first token of %s with %j, even if it is invalid', async (path, headers, id) => {
    expect(await call(path, { headers })).toMatchObject({ status: 200, body: id });
  });

  it.each([
    ['/user', null, 401, 'You must be logged in.'],
    ['/user', 'wrong', 401, 'You must be logged in.'],
    ['/user', 'reader', 401, 'You must be logged in.'],
    ['/user', 'nobody', 401, 'You must be logged in.'],
    ['/user', 'full', 200, null],
    ['/token', null, 401, 'You must be logged in or have a valid auth token.'],
    ['/token', 'nobody', 200, null],
    ['/admin', null, 401, 'Administrator access required.'],
    ['/admin', 'full', 403, 'Administrator access required.'],
    ['/admin', 'reader', 401, 'Administrator access required.'],
    ['/admin', 'admin', 200, null],
  ])('answers %s with the token %s by %i', async (path, token, status, message) => {
    const answer = await call(path, { headers: token === null ? {} : { 'Girder-Token': token } });
    expect(answer.status).toBe(status);
    if (message !== null) expect(answer.body).toMatchObject({ message, type: 'access' });
  });

  it('reveals nothing about unexpected errors except a number to find them by', async () => {
    const { status, body } = await call('/broken');
    expect(status).toBe(500);
    expect(body).toMatchObject({
      message: 'An unexpected error occurred on the server.',
      type: 'internal',
      uid: expect.any(String),
    });
  });

  it.each([
    ['/busy', 503, '2'],
    ['/often', 429, '1'],
  ])('says when to try %s again, in whole seconds', async (path, status, seconds) => {
    const answer = await call(path);
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([status, seconds]);
  });

  it('writes dates in ISO 8601 with offset and leaves out undefined members', async () => {
    expect((await call('/dates')).body).toEqual({ at: '2026-01-02T03:04:05.600+00:00', whole: '1970-01-01T00:00:00+00:00' });
  });

  it('answers HEAD with the headers of GET, identifies each request, and makes caches revalidate', async () => {
    const { status, headers, body } = await call('/dates', { method: 'HEAD' });
    expect([status, body]).toEqual([200, undefined]);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('private, no-cache');
    const tag = headers.get('etag')!;
    const answer = await call('/dates', { headers: { 'If-None-Match': tag } });
    expect([answer.status, answer.headers.get('etag'), answer.body]).toEqual([304, tag, undefined]);
    expect((await call('/dates', { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
    expect(headers.get('girder-request-uid')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('tells the handler when the client disconnects', async () => {
    const started = httpRequest(`${base}/slow`).on('error', () => {});
    started.end();
    await until('the request has arrived', () => context.started > 0);
    started.destroy();
    await until('the handler has been told', () => context.aborted.length > 0);
    expect(context.aborted).toEqual(['slow']);
  });

  it('streams a response', async () => {
    const response = await fetch(`${base}/stream`);
    expect(await response.text()).toBe('ab');
  });
});
