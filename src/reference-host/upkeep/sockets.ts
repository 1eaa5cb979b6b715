import { connect, createServer, type Server } from 'node:net';

/** The system allows 104 to 108 bytes for the path of a socket. */
export const maxSocketPathBytes = 100;

/**
 * Listens at a path, or a pipe's name, and tells `text` to whoever connects. It keeps no process running.
 *
 * @throws with code `EADDRINUSE` when something is at the path, be it left over from a process that was killed
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

/** What is told at a path; `''` if nothing is within two seconds; `null` when nobody listens there. */
export function askAt(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    let text = '';
    let connected = false;
    const socket = connect(path);
    socket.setTimeout(2000, () => socket.destroy());
    socket.on('connect', () => {
      connected = true;
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(connected ? text : null));
  });
}

/** Whether somebody listens at a path: known as soon as the system has answered, however busy the other process is. */
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
