// Requests pictures in its own process, so that its processor time does not count as the server's. It reads answers from the
// socket itself, because Node's client takes a tenth of the time of making a tile for each response, on the same processors.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { serveParent } from '../support/children.js';
import { repeat, type Done, type Download } from './measure.js';

/** Sends one request after the other on one connection. @throws Error for all responses except successes of a known length. */
class Connection {
  #head = '';
  /** Bytes of the response that are still to come; `null` before its head has come. */
  #left: number | null = null;
  #settle: { resolve: () => void; reject: (error: Error) => void } | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly fixed: string,
  ) {
    socket.on('data', (bytes) => this.#take(bytes));
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
      this.socket.write(`GET ${path}${this.fixed}`);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (this.#left !== null) this.#left -= bytes.length;
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
      this.#left = Number(length) - (this.#head.length - end - 4);
    }
    if (this.#left > 0) return;
    this.#head = '';
    this.#left = null;
    this.#settle?.resolve();
  }
}

async function download(subject: string): Promise<Done | { failed: string }> {
  const { connections, paths, seconds, ...where } = JSON.parse(subject) as Download;
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(where)));
  const free = [...opened];
  const sendOne = async () => {
    const path = paths.pop();
    if (path === undefined) throw new RangeError('Not enough paths');
    const connection = free.pop()!;
    await connection.get(path);
    free.push(connection);
  };
  try {
    return await repeat(connections, sendOne, seconds);
  } catch (error) {
    return { failed: String(error) };
  } finally {
    for (const connection of opened) connection.close();
  }
}

await serveParent('', { download }, () => Promise.resolve());
