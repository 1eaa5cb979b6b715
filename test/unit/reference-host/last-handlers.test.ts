import express from 'express';
import { mongo } from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createErrorHandler } from '../../../src/reference-host/http/last-handlers.js';
import { listen } from '../../support/hosts/listening.js';

const logged: [event: string, fields: object][] = [];
const log = (fields: object, event: string) => void logged.push([event, fields]);
let server: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  const app = express();
  app.use('/away', () => Promise.reject(new mongo.MongoServerSelectionError('closed', { servers: new Map() } as never)));
  app.use(['/broken/t/secret', '/empty/t//secret'], () => Promise.reject(new TypeError('secret words')));
  app.use(createErrorHandler({ debug: log, info: log, warn: log, error: log }));
  server = await listen(app);
});
afterAll(() => server?.close());

it('answers 503 when middleware in front of all routes cannot reach the database', async () => {
  const answer = await fetch(`${server.url}/away`);
  expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
  expect(await answer.json()).toMatchObject({ message: 'The database cannot be reached at the moment. Try again later.' });
});

it('reveals nothing about other errors, and logs them without tokens', async () => {
  logged.length = 0;
  const answer = await fetch(`${server.url}/broken/t/secret`);
  const { uid, ...body } = (await answer.json()) as { uid: string };
  expect([answer.status, body]).toMatchObject([
    500,
    { message: 'An unexpected error occurred on the server.', type: 'internal' },
  ]);
  expect(logged).toMatchObject([['Request:Failed', { uid, route: '/broken/t/***' }]]);
  await fetch(`${server.url}/empty/t//secret`);
  expect(logged[1]).toMatchObject(['Request:Failed', { route: '/empty/t/***' }]);
});
