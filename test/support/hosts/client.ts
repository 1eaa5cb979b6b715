import { Agent, request } from 'node:http';
import type { AnswerCheck } from '../access/answers.js';

/** The contents of a request. */
export interface Sending {
  query?: Record<string, string | number | boolean> | [string, string][];
  json?: unknown;
  body?: string | Uint8Array;
  form?: Record<string, string>;
  headers?: Record<string, string>;
}

/** A response. Its body is parsed if it is JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  // Bodies of every route: tests look at members and fail where they are not what they should be.
  body: Record<string, unknown> & unknown[];
  bytes: Buffer;
}

const agent = new Agent({ keepAlive: true });

/** Sends a request with Node's HTTP client, because `fetch`, with its streams, takes three times the processor time. */
function ask(
  address: URL,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | undefined,
): Promise<Pick<Answer, 'status' | 'headers' | 'bytes'>> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const sent = request(address, { agent, method, headers: { Accept: '*/*', ...length, ...headers } });
    let isAnswered = false;
    sent.on('response', (response) => {
      isAnswered = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const headers = new Headers();
        for (const [name, values] of Object.entries(response.headersDistinct)) {
          for (const value of values ?? []) headers.append(name, value);
        }
        resolve({ status: response.statusCode!, headers, bytes: Buffer.concat(chunks) });
      });
    });
    // A server that has answered need not read the rest of a body.
    sent.on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    sent.end(body);
  });
}

/** Sends requests with one token. */
export class Client {
  constructor(
    readonly url: string,
    readonly token: string | null,
    readonly id: string | null,
    /** Headers of each request. */
    readonly headers: Readonly<Record<string, string>> = {},
    readonly check: AnswerCheck | null = null,
  ) {}

  async send(method: string, path: string, sending: Sending = {}): Promise<Answer> {
    const address = new URL(`${this.url}/api/v1${path}`);
    const pairs = Array.isArray(sending.query) ? sending.query : Object.entries(sending.query ?? {});
    for (const [name, value] of pairs) address.searchParams.append(name, String(value));
    const headers: Record<string, string> = { ...this.headers, ...(this.token && { 'Girder-Token': this.token }) };
    let body: string | Uint8Array | undefined = sending.body;
    if (sending.json !== undefined) {
      body = JSON.stringify(sending.json);
      headers['Content-Type'] = 'application/json';
    } else if (sending.form !== undefined) {
      body = new URLSearchParams(sending.form).toString();
      headers['Content-Type'] = 'application/x-www-form-urlencoded';
    } else if (body !== undefined) headers['Content-Type'] = 'application/octet-stream';
    const answered = await ask(address, method, { ...headers, ...sending.headers }, body);
    const isJson = answered.headers.get('content-type')?.includes('json') === true && answered.bytes.length > 0;
    const answer = { ...answered, body: isJson ? (JSON.parse(answered.bytes.toString()) as Answer['body']) : (null as never) };
    const sentAs = sending.headers?.['X-HTTP-Method-Override'] ?? method;
    const wrong = this.check?.(sentAs, address.pathname.slice('/api/v1'.length), answer) ?? null;
    if (wrong !== null) throw new Error(`A response is not what the description of the API says: ${wrong}`);
    return answer;
  }

  /** Returns the body of a response that must be a success. */
  async ok(method: string, path: string, sending: Sending = {}): Promise<Answer['body']> {
    const answer = await this.send(method, path, sending);
    if (answer.status >= 400) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
    return answer.body;
  }

  /** Returns the status and body of a response, for comparison with an expected error. */
  async fails(method: string, path: string, sending: Sending = {}): Promise<Record<string, unknown>> {
    const { status, body } = await this.send(method, path, sending);
    return { status, ...(body as Record<string, unknown>) };
  }

  async create(path: string, query: NonNullable<Sending['query']>): Promise<string> {
    return String((await this.ok('POST', path, { query }))._id);
  }
}
