// Requests pictures in a separate process, so that the client's processor time does not count as the server's. The client reads responses
// directly from the socket, because Node's HTTP client would take a tenth of the time that the server needs to make a tile.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { serveParent } from '../support/children.js';
import { repeat, type TaskResult, type Download } from './measure.js';

/** Sends one request after the other on one connection. @throws Error for all responses except successes of a known length. */
class Connection {
  #head = '';
  /** Number of bytes of the response that have not been received yet; `null` before the head has been received. */
  #remainingBytes: number | null = null;
  #settle: { resolve: () => void; reject: (error: Error) => void } | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly requestEnd: string,
  ) {
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.once('error', (error) => this.#settle?.reject(error));
    socket.once('close', () => this.#settle?.reject(new Error('The server has closed the connection')));
  }

  static async open({ url, headers }: Pick<Download, 'url' | 'headers'>): Promise<Connection> {
    const { hostname, port, host } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    return new Connection(socket, ` HTTP/1.1\r\n${lines.join('')}\r\n`);
  }

  get(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.socket.write(`GET ${path}${this.requestEnd}`);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#remainingBytes !== null) this.#remainingBytes -= bytes.length;
    else {
      this.#head += bytes.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.#head.slice(0, end);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (!head.startsWith('HTTP/1.1 200') || length === undefined) {
        this.#settle?.reject(new Error(`Answered ${this.#head.slice(0, 1000)}`));
        return;
      }
      this.#remainingBytes = Number(length) - (this.#head.length - end - 4);
    }
    if (this.#remainingBytes > 0) return;
    this.#head = '';
    this.#remainingBytes = null;
    this.#settle?.resolve();
  }
}

async function download(subject: string): Promise<TaskResult | { failed: string }> {
  const { connections, paths, seconds, ...target } = JSON.parse(subject) as Download;
  const allConnections = await Promise.all(Array.from({ length: connections }, () => Connection.open(target)));
  const freeConnections = [...allConnections];
  const sendOne = async () => {
    const path = paths.pop();
    if (path === undefined) throw new RangeError('Not enough paths');
    const connection = freeConnections.pop()!;
    await connection.get(path);
    freeConnections.push(connection);
  };
  try {
    return await repeat(connections, sendOne, seconds);
  } catch (error) {
    return { failed: String(error) };
  } finally {
    for (const connection of allConnections) connection.close();
  }
}

await serveParent('', { download }, () => Promise.resolve());
