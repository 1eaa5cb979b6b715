import { setImmediate as turn } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { addFormParameters, dropRemainingBody, type HttpRequest } from '../../../src/http/serving/request.js';

const pieces = 300_000;

/** A request that already has all its pieces when reading begins. */
function request(type: string, head: string, tail: string): HttpRequest {
  const body = new Readable({ read: () => undefined, highWaterMark: 2 ** 30 });
  const push = body.push.bind(body);
  push(Buffer.from(head));
  const x = Buffer.from('x');
  for (let i = 0; i < pieces; i += 1) push(x);
  push(Buffer.from(tail));
  push(null);
  return Object.assign(body, { headers: { 'content-type': type }, complete: false }) as unknown as HttpRequest;
}

it.each<[string, (sent: Record<string, string>) => Promise<unknown>]>([
  ['a form', (sent) => addFormParameters(request('application/x-www-form-urlencoded', 'a=', ''), sent)],
  [
    'a form in parts',
    (sent) => {
      const head = '--y\r\nContent-Disposition: form-data; name="a"\r\n\r\n';
      return addFormParameters(request('multipart/form-data; boundary=y', head, '\r\n--y--\r\n'), sent);
    },
  ],
  [
    'a body that is dropped',
    (sent) => {
      const dropped = request('text/plain', '', '');
      const ended = new Promise((resolve) => dropped.once('end', resolve));
      dropRemainingBody(dropped);
      sent.a = 'x'.repeat(pieces);
      return ended;
    },
  ],
])('yields to the event loop while many pieces of %s arrive', async (_what, readBody) => {
  const sent: Record<string, string> = {};
  let isTaken = false;
  const taking = readBody(sent).then(() => (isTaken = true));
  let turns = 0;
  for (; !isTaken; turns += 1) await turn();
  await taking;
  expect(sent.a).toHaveLength(pieces);
  expect(turns).toBeGreaterThanOrEqual(4);
});
