import { randomInt } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';

/** Serves an application on a free port of 127.0.0.1. */
export async function listen(app: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(app);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * A port of 127.0.0.1 that nobody listens on at the moment. It is below the ports that systems assign to connections, and to
 * servers that request any port, thousands of which are used while tests run.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createSocketServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
