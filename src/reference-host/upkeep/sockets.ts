import { connect, createServer, type Server } from 'node:net';

/** Largest length of a socket's path. Systems allow 104 to 108 bytes. */
export const maxSocketPathBytes = 100;

/**
 * Listens on a socket or named pipe, and sends `text` to every client that connects. The server does not keep the process running.
 *
 * @throws an error with the code `EADDRINUSE` if the path exists, even if the process that listened there was killed
 */
export function listenAt(path: string, text: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(text);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Reads the text that a listener at a path sends; `''` if it sends nothing within two seconds; `null` if nobody listens there. */
export function readTextFrom(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    let text = '';
    let isConnected = false;
    const socket = connect(path);
    socket.setTimeout(2000, () => socket.destroy());
    socket.on('connect', () => {
      isConnected = true;
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(isConnected ? text : null));
  });
}

/** Whether a process listens at a path. The system answers immediately, even if the process is busy. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on('connect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'));
  });
}
