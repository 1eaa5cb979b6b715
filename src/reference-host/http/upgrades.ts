import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** Takes over a connection whose client requests another protocol. @returns whether the connection was taken over */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

/** Headers that concern only the connection or the requested protocol, and are removed when the request is answered as usual. */
const connectionHeaders = new Set(['connection', 'upgrade', 'http2-settings']);

/**
 * Passes connections whose clients request another protocol to `takeOver`. Requests that it does not take over are answered as
 * usual, as HTTP requires: Java clients request HTTP/2 with their first request.
 */
export function offerUpgrades(server: Server, takeOver: UpgradeHandler): void {
  server.on('upgrade', (request, socket, head) => {
    if (takeOver(request, socket, head)) return;
    const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      const [name, value] = [request.rawHeaders[i]!, request.rawHeaders[i + 1]!];
      if (!connectionHeaders.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
    }
    // Node has detached its parser from the connection. It is treated as a new connection, so it gets a parser again, which reads
    // the request from the start.
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
    server.emit('connection', socket);
  });
}
