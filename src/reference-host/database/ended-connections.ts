import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { mongo, type Connection } from 'mongoose';

const channel = 'net.client.socket';

/**
 * Makes commands fail if their connection has ended. The driver (seen in 7.8 and 7.9) may write to a socket that is destroyed but has
 * not emitted `close` yet, as when the database ends under load. The driver then waits for a `drain` that never comes, and callers wait for
 * the command. The driver does listen for errors of the socket, so an error is emitted here. TLS connections are not covered.
 *
 * @returns `watch` starts to watch a connection; `stop` stops watching all connections.
 */
export function watchEndedConnections(): { watch(connection: Connection): void; stop(): void } {
  const ports = new Set<number>();
  const failOpenCommands = (socket: Socket): void => {
    if (socket.listenerCount('drain') === 0) return;
    socket.emit('error', new mongo.MongoNetworkError('The connection ended while a command was written.'));
  };
  const watchSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.once('connect', () => {
      const { remotePort } = socket;
      socket.once('close', () => {
        if (remotePort === undefined || !ports.has(remotePort)) return;
        failOpenCommands(socket);
        // The second call is for a command that was only about to be written when the connection closed.
        setImmediate(failOpenCommands, socket);
      });
    });
  };
  subscribe(channel, watchSocket);
  return {
    watch(connection) {
      const client = connection.getClient();
      const addPort = (address: string) => ports.add(Number(address.slice(address.lastIndexOf(':') + 1)));
      for (const host of client.options.hosts) addPort(host.toString());
      // A replica set may have members that the connection string does not name.
      client.on('connectionCreated', ({ address }) => addPort(address));
    },
    stop: () => void unsubscribe(channel, watchSocket),
  };
}
