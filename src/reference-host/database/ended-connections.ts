import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { mongo, type Connection } from 'mongoose';

const channel = 'net.client.socket';

/**
 * Lets commands fail whose connection has ended. The driver (seen in 7.8 and 7.9) may write to a socket that is destroyed and has not
 * told so yet, as when the database ends under load; it then waits for a `drain` that never comes, and with it the request, the image
 * being opened, or the queue of jobs. It does listen for errors of the socket. Connections by TLS are not seen here.
 *
 * @returns what takes a connection of which this is to be true, and what ends it.
 */
export function watchEndedConnections(): { follow(connection: Connection): void; stop(): void } {
  const ports = new Set<number>();
  const fail = (socket: Socket): void => {
    if (socket.listenerCount('drain') === 0) return;
    socket.emit('error', new mongo.MongoNetworkError('The connection ended while a command was written.'));
  };
  const watch = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.once('connect', () => {
      const { remotePort } = socket;
      socket.once('close', () => {
        if (remotePort === undefined || !ports.has(remotePort)) return;
        fail(socket);
        // A command that was on its way to be written when this was told.
        setImmediate(fail, socket);
      });
    });
  };
  subscribe(channel, watch);
  return {
    follow(connection) {
      const client = connection.getClient();
      const add = (address: string) => ports.add(Number(address.slice(address.lastIndexOf(':') + 1)));
      for (const host of client.options.hosts) add(host.toString());
      // Members of a replica set that the address does not name.
      client.on('connectionCreated', ({ address }) => add(address));
    },
    stop: () => void unsubscribe(channel, watch),
  };
}
