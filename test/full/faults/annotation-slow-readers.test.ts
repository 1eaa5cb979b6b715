import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import { until } from '../../support/run/until.js';

const readerCount = 6;
const elementCount = 30_000;

let at: Annotated;
let sockets: Socket[] = [];
beforeAll(async () => {
  at = await startAnnotated();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await at?.close();
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes in buffers that are still referenced. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Requests an annotation over a socket and reads only its first bytes. */
function readSlowly(id: string): Promise<Socket> {
  const { hostname, port } = new URL(at.host.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`GET /api/v1/annotation/${id} HTTP/1.1\r\nHost: x\r\nGirder-Token: ${at.admin.token}\r\n\r\n`);
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', (chunk: Buffer) => {
      socket.pause();
      if (chunk.toString('latin1', 9, 12) === '200') resolve(socket);
      else reject(new Error(chunk.toString('latin1', 0, 100)));
    });
  });
}

it('slow readers cost little memory and still receive everything, and readers that leave cost nothing', async () => {
  // Each element has about 1 KB.
  const text = 'x'.repeat(900);
  const list = Array.from({ length: elementCount }, (_, i) => ({ type: 'point', center: [i, i, 0], user: { i, text } }));
  const { _id } = await at.annotate({ name: 'long', elements: list });
  list.length = 0;
  const before = heldBytes();
  sockets = await Promise.all(Array.from({ length: readerCount }, () => readSlowly(_id)));
  // If the texts were kept for each of them, they would take 180 MB.
  await until('texts are let go', () => heldBytes() - before < 60_000_000);
  // One of them continues and receives everything.
  const [patient, ...others] = sockets;
  let bytes = 0;
  let last = '';
  patient!.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    last = chunk.toString('latin1').slice(-20);
  });
  patient!.resume();
  await until('the patient reader has all', () => last.endsWith('0\r\n\r\n'));
  expect(bytes).toBeGreaterThan(elementCount * 900);
  for (const socket of others) socket.destroy();
  patient!.destroy();
  await until('nothing is held for who left', () => heldBytes() - before < 20_000_000);
  expect((await at.admin.send('GET', `/annotation/${_id}`, { query: { limit: 1 } })).status).toBe(200);
});
