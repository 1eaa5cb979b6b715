import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** One request of a client. */
export interface LoadRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. */
  path: string;
  body?: string | Uint8Array;
  /** Headers in addition to the client's headers. */
  headers?: Readonly<Record<string, string>>;
  /** Called with the text of a successful response. */
  onSuccess?: (text: string) => void;
}

/** A kind of clients. Each sends a request after the previous one was answered. */
export interface Kind {
  name: string;
  /** Number of clients of this kind. */
  clients: number;
  url: string;
  headers?: (client: number) => Readonly<Record<string, string>>;
  /** Whether the clients send the next request at once, whatever the response was. */
  isRude?: boolean;
  /** Pause after each response. */
  pauseMs?: number;
  next: (client: number, count: number) => LoadRequest;
}

/** The results of the requests of a kind of clients. */
export interface Outcome {
  name: string;
  clients: number;
  /** Times of successful requests, in milliseconds. */
  times: number[];
  /** Number of requests by status; 0 if there was no response. */
  statuses: Map<number, number>;
  /** Number of 503 answers without Retry-After. */
  unexplained: number;
  /** The first response of each status that is not a success. */
  samples: Map<number, string>;
}

interface Answer {
  status: number;
  retryAfter: number | null;
  text: string;
}

const patienceMs = 60_000;
const maxTextBytes = 4096;

function send(agent: Agent, url: string, headers: Readonly<Record<string, string>>, loadRequest: LoadRequest): Promise<Answer> {
  return new Promise((resolve) => {
    const resolveFailure = (error: Error) => resolve({ status: 0, retryAfter: null, text: error.message });
    const clientRequest = request(
      url + loadRequest.path,
      { method: loadRequest.method, agent, headers, timeout: patienceMs },
      (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          if (length < maxTextBytes) chunks.push(chunk);
          length += chunk.length;
        });
        response.once('error', resolveFailure);
        response.once('end', () => {
          const after = response.headers['retry-after'];
          const text = Buffer.concat(chunks).toString('latin1').slice(0, maxTextBytes);
          resolve({ status: response.statusCode ?? 0, retryAfter: after === undefined ? null : Number(after), text });
        });
      },
    );
    clientRequest.once('timeout', () => clientRequest.destroy(new Error('no response within a minute')));
    clientRequest.once('error', resolveFailure);
    clientRequest.end(loadRequest.body);
  });
}

/** Runs clients of all kinds for some seconds, and waits for the remaining answers. */
export async function runClients(kinds: readonly Kind[], seconds: number): Promise<Outcome[]> {
  const end = performance.now() + seconds * 1000;
  const runningClients: Promise<void>[] = [];
  const outcomes = kinds.map((kind): Outcome => {
    const { name, clients } = kind;
    const outcome: Outcome = { name, clients, times: [], statuses: new Map(), unexplained: 0, samples: new Map() };
    for (let client = 0; client < clients; client += 1) runningClients.push(runClient(kind, client, end, outcome));
    return outcome;
  });
  await Promise.all(runningClients);
  return outcomes;
}

async function runClient(kind: Kind, client: number, end: number, outcome: Outcome): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = kind.headers?.(client) ?? {};
  for (let count = 0; performance.now() < end; count += 1) {
    const loadRequest = kind.next(client, count);
    const start = performance.now();
    const { status, retryAfter, text } = await send(agent, kind.url, { ...headers, ...loadRequest.headers }, loadRequest);
    outcome.statuses.set(status, (outcome.statuses.get(status) ?? 0) + 1);
    if (status >= 200 && status < 300) {
      outcome.times.push(performance.now() - start);
      loadRequest.onSuccess?.(text);
      if (kind.pauseMs !== undefined) await pause(kind.pauseMs);
      continue;
    }
    if (!outcome.samples.has(status)) outcome.samples.set(status, text.slice(0, 300));
    if (status === 503 && retryAfter === null) outcome.unexplained += 1;
    // Clients wait as long as the server says, or for a second if it does not say.
    if (kind.isRude !== true) await pause((retryAfter ?? 1) * 1000);
  }
  agent.destroy();
}
