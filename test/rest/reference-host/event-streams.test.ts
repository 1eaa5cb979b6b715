import compression from 'compression';
import express from 'express';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Model } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventStream } from '../../../src/larger-host.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('event streams', () => {
  let started: TestHost;
  let admin: Client;
  let server: Server;
  let url: string;
  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    const outer = express();
    outer.use(compression({ threshold: 0 }));
    outer.use(started.host.app);
    server = await new Promise<Server>((resolve) => {
      const opened = outer.listen(0, '127.0.0.1', () => resolve(opened));
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await started?.close();
  });

  /** Follows a stream until a text has come. */
  async function follow(path: string, expected: string, act: () => Promise<unknown>): Promise<Response> {
    const leaving = new AbortController();
    const headers = { 'Girder-Token': admin.token!, 'Accept-Encoding': 'gzip, br' };
    const response = await fetch(`${url}${path}`, { headers, signal: leaving.signal });
    await act();
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(expected)) break;
    }
    expect(text).toContain(expected);
    leaving.abort();
    return response;
  }

  it('pass through compression() immediately, and tell proxies not to buffer them', async () => {
    const create = () => started.host.jobs.create({ title: 'watched', type: 'watched', userId: admin.id });
    const job = await create();
    const streams = [
      await follow(`/job/${job.id}/events`, 'one more line', () => started.host.jobs.appendLog(job.id, 'one more line\n')),
      await follow('/notification/stream', 'job_created', create),
    ];
    for (const { headers } of streams) {
      expect(headers.get('content-encoding')).toBeNull();
      expect(headers.get('cache-control')).toContain('no-transform');
      expect(headers.get('x-accel-buffering')).toBe('no');
    }
    // The middleware is in use.
    const answer = await fetch(`${url}/system/version`, { headers: { 'Accept-Encoding': 'gzip' } });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    await answer.arrayBuffer();
  });

  it('are checked together, all open ones at once', async () => {
    const database = await startTestDatabase();
    const address = new URL(database.uri);
    address.searchParams.set('monitorCommands', 'true');
    const watched = await startHost({ mongoUri: address.href });
    const leaving = new AbortController();
    let looks = 0;
    const client = (watched.host.host.models.item as Model<unknown>).db.getClient();
    const recordCommand = ({ commandName, command }: { commandName: string; command: Record<string, unknown> }) => {
      if (commandName === 'find' && /token|user/.test(String(command.find))) looks += 1;
    };
    try {
      const users = [await watched.register('first'), await watched.register('second')];
      const opened = Array.from({ length: 20 }, (_, i) => users[i % 2]!.token!).map((token) =>
        fetch(`${watched.url}/api/v1/notification/stream`, { headers: { 'Girder-Token': token }, signal: leaving.signal }),
      );
      for (const { status } of await Promise.all(opened)) expect(status).toBe(200);
      await watched.swept();
      const began = performance.now();
      client.on('commandStarted', recordCommand);
      await until('the streams have been looked at for three seconds', () => looks > 1 && performance.now() - began > 3000);
      // Each stream is checked every second, in one of four groups by the time when it was opened. One by one there would be 120
      // checks.
      const seconds = (performance.now() - began) / 1000;
      expect(looks).toBeLessThanOrEqual(10 * seconds);
    } finally {
      client.off('commandStarted', recordCommand);
      leaving.abort();
      await watched.close();
      await database.stop();
    }
  });

  it('send heartbeats while nothing happens, and end when the client disconnects', async () => {
    const ended = new AbortController();
    async function* events(): AsyncGenerator<string> {
      yield 'data: first\n\n';
      await new Promise<void>((resolve) => ended.signal.addEventListener('abort', () => resolve()));
    }
    const { content } = eventStream(events(), { heartbeatMs: 5 });
    if (content.kind !== 'stream') throw new Error('no stream');
    let text = '';
    for await (const chunk of content.body) {
      text += String(chunk);
      if (text.split('still here').length > 3) ended.abort();
    }
    expect(text).toMatch(/^data: first\n\n(: still here\n\n){3,}$/);
  });
});
