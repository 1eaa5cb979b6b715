import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** An address that stays the same while the server behind it is killed and started at another address. */
export class StableAddress {
  readonly #sockets = new Set<Socket>();
  #target: URL;

  private constructor(target: URL) {
    this.#target = target;
  }

  readonly #server = createServer((socket) => {
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });

  /** Creates a stable address for the server at `uri`. */
  static async create(uri: string): Promise<StableAddress> {
    const address = new StableAddress(new URL(uri));
    await new Promise<void>((resolve) => address.#server.listen(0, '127.0.0.1', resolve));
    return address;
  }

  /** The address, with the name of a database. */
  uri(name: string): string {
    const uri = new URL(this.#target);
    uri.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    uri.pathname = `/${name}`;
    return uri.href;
  }

  moveTo(uri: string): void {
    this.#target = new URL(uri);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
