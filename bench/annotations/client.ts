import { Agent, request } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** The query and body of a request, and where its response is written. */
export interface Sending {
  query?: Readonly<Record<string, string | number>>;
  body?: string | Uint8Array | Readable;
  /** Where the response is written; default: only its beginning is kept. */
  to?: Writable;
}

/** A response, and its times in milliseconds since the request began. */
export interface Received {
  /** Time until the status was received. */
  headMs: number;
  /** Time until the last byte was received. */
  ms: number;
  bytes: number;
  /** The beginning of the response, up to 64 KiB. */
  text: string;
}

const maxTextBytes = 64 * 1024;
const agent = new Agent({ keepAlive: true });

/** Sends one request over a kept connection and receives all of the response. @throws for any status that is not a success. */
export async function send(method: string, address: string, { query = {}, body, to }: Sending, token = ''): Promise<Received> {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const start = performance.now();
  const clientRequest = request(url, { method, agent, headers: token === '' ? {} : { 'Girder-Token': token } });
  const answer = new Promise<Received>((resolve, reject) => {
    clientRequest.once('error', reject);
    clientRequest.once('response', (response) => {
      const headMs = performance.now() - start;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        if (bytes < maxTextBytes) chunks.push(chunk);
        bytes += chunk.length;
      });
      if (to !== undefined) pipeline(response, to).catch(reject);
      response.once('error', reject);
      response.once('end', () => {
        const ms = performance.now() - start;
        const text = Buffer.concat(chunks).toString('latin1').slice(0, maxTextBytes);
        const { statusCode = 0 } = response;
        if (statusCode >= 300) reject(new Error(`${method} ${url.pathname} answered ${statusCode}: ${text}`));
        else resolve({ headMs, ms, bytes, text });
      });
    });
  });
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) clientRequest.end(body);
  else await Promise.race([pipeline(body, clientRequest), answer]);
  return answer;
}
