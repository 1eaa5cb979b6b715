import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { isMainThread, MessagePort, Worker } from 'node:worker_threads';
import { watchLoop, type LoopStretches } from '../run/loop-stretches.js';

/** The work of a server since it was last asked. */
export interface ServerWork {
  /** How often work on the event loop has checked the clock, to decide whether to let other work run. */
  looks: number;
  /** Messages to threads. */
  toThreads: number;
  /** Commands to the database. */
  commands: number;
  /** Bytes that were read of requests. */
  bytesRead: number;
  stretches: LoopStretches;
}

/*
 * Loaded with `--import` into a server process that a test forks: counts its work, and measures how long its event loop goes without a turn. Every
 * message from the test is answered with the work since the message before.
 */
if (isMainThread && process.send !== undefined && process.env.WATCH_LOOP === '1') {
  // Child processes and workers have their own event loops.
  delete process.env.WATCH_LOOP;
  const counts = { looks: 0, toThreads: 0, commands: 0 };
  const loop = watchLoop();
  const realNow = performance.now.bind(performance);
  performance.now = () => {
    counts.looks += 1;
    return realNow();
  };
  for (const sender of [MessagePort.prototype, Worker.prototype]) {
    const send = sender.postMessage as (...words: unknown[]) => void;
    sender.postMessage = function (this: unknown, ...words: unknown[]) {
      counts.toThreads += 1;
      send.apply(this, words);
    } as typeof sender.postMessage;
  }
  const databasePort = Number(/:(\d+)(?:\/|$)/.exec(process.env.MONGODB_URI ?? '')?.[1]);
  // oxlint-disable-next-line typescript/unbound-method -- called with its socket below
  const write = Socket.prototype.write as (...words: unknown[]) => boolean;
  Socket.prototype.write = function (this: Socket, ...words: unknown[]) {
    if (this.remotePort === databasePort) counts.commands += 1;
    return write.apply(this, words);
  } as typeof write;
  const sockets = new Map<Socket, number>();
  subscribe('http.server.request.start', (message) => {
    // The channel is documented to carry it.
    const { socket } = (message as { request: IncomingMessage }).request;
    if (sockets.has(socket)) return;
    sockets.set(socket, 0);
  });
  const bytesRead = (): number => {
    let sum = 0;
    for (const [socket, before] of sockets) {
      sum += socket.bytesRead - before;
      if (socket.destroyed) sockets.delete(socket);
      else sockets.set(socket, socket.bytesRead);
    }
    return sum;
  };
  process.on('message', () => {
    const work: ServerWork = { ...counts, bytesRead: bytesRead(), stretches: loop.take() };
    Object.assign(counts, { looks: 0, toThreads: 0, commands: 0 });
    process.send?.(work);
  });
  process.channel?.unref();
}
