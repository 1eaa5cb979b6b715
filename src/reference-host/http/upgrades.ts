import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** Takes over a connection whose client asks for another protocol. @returns whether it has */
export type Upgrading = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

/** What is said between two neighbours only, and of the protocol that is not spoken here. */
const dropped = new Set(['connection', 'upgrade', 'http2-settings']);

/**
 * Hands requests for another protocol to `take`. What that leaves is answered as if nothing of the kind had been asked, as HTTP has it: clients in Java
 * ask for HTTP/2 with their first request.
 */
export function offerUpgrades(server: Server, take: Upgrading): void {
  server.on('upgrade', (request, socket, head) => {
    if (take(request, socket, head)) return;
    const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      const [name, value] = [request.rawHeaders[i]!, request.rawHeaders[i + 1]!];
      if (!dropped.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
    }
    // Node has taken its reader of requests off the connection: it reads the request again.
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
    server.emit('connection', socket);
  });
}
