import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newFolder } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let host: TestHost;
let admin: Client;
let item: string;
beforeAll(async () => {
  host = await startHost();
  admin = await host.register('admin');
  item = await admin.create('/item', { folderId: await newFolder(admin, 'Bodies'), name: 'item' });
});
afterAll(() => host?.close());

/** Sends a body in pieces of this length, and then another text. @returns the status of the response; `closed` if there is none. */
function sendPieces(text: string, length: number, after: string): Promise<string> {
  const { port, hostname } = new URL(host.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.on('data', (data) => (received += data.toString('latin1'))).on('error', () => undefined);
    socket.on('close', () => resolve(/^HTTP\/1.1 (\d+)/.exec(received)?.[1] ?? 'closed'));
    const head = [
      `PUT /api/v1/item/${item}/metadata HTTP/1.1`,
      'Host: host',
      `Girder-Token: ${admin.token}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      'Connection: close',
    ];
    const bytes = Buffer.from(text).toString('latin1');
    const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, i) => {
      const piece = bytes.slice(i * length, (i + 1) * length);
      return `${piece.length.toString(16)}\r\n${piece}\r\n`;
    });
    socket.write(`${head.join('\r\n')}\r\n\r\n${pieces.join('')}${after}`, 'latin1');
    if (after === '') socket.end();
  });
}

it('the server reads a body in pieces of any length, and refuses one that is too long or ends halfway', async () => {
  const longText = `${'x'.repeat(70_000)}é`;
  expect(await sendPieces(JSON.stringify({ note: longText }), 1, '0\r\n\r\n')).toBe('200');
  expect((await admin.ok('GET', `/item/${item}`)).meta).toEqual({ note: longText });
  expect(await sendPieces(JSON.stringify({ note: 'x'.repeat(1_100_000) }), 64, '0\r\n\r\n')).toBe('413');
  expect(await sendPieces('{"note":', 1, '')).toMatch(/400|closed/);
  expect((await admin.ok('GET', `/item/${item}`)).meta).toEqual({ note: longText });
});
