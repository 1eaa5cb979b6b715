import { Readable } from 'node:stream';
import sharp from 'sharp';
import { install, type Host, type Installation, type InstallOptions } from '../../../src/index.js';
import { startTestDatabase } from './database.js';
import { listen } from './listening.js';
import { closeSpecimenServer, openSpecimenServer, specimenHost, type SpecimenServer } from '../../../examples/host-adapter.js';

/** A server that is structured unlike the reference host, with the plugin installed on it. */
export interface InstalledSpecimens {
  server: SpecimenServer;
  host: Host;
  installation: Installation;
  /** Address of the API. */
  api: string;
  /** A specimen in an open cabinet, with this file. @returns their ids */
  addSpecimen(name: string, bytes: Buffer): Promise<{ specimen: string; blob: string }>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Starts the server on a separate database. `change` gives the adapter other or further members. */
export async function startSpecimens(
  change: (host: Host, server: SpecimenServer) => Partial<Host> = () => ({}),
  options?: InstallOptions,
): Promise<InstalledSpecimens> {
  const database = await startTestDatabase();
  const server = await openSpecimenServer(database.uri);
  const plain = specimenHost(server);
  const host: Host = { ...plain, ...change(plain, server) };
  const installation = await install(host, options);
  const listening = await listen(server.app);
  const api = `${listening.url}${host.apiRoot}`;
  return {
    server,
    host,
    installation,
    api,
    async addSpecimen(name, bytes) {
      const cabinet = await server.Cabinets.create({ title: 'a cabinet', owner: 'nobody', open: true });
      const specimen = await server.Specimens.create({ title: name, cabinet: cabinet._id });
      const blob = await host.files.create(
        { name, mimeType: '', size: bytes.length, parent: { type: 'item', itemId: specimen.id as string } },
        Readable.from([bytes]),
      );
      return { specimen: specimen.id as string, blob: String(blob._id) };
    },
    get: (path, headers = {}) => fetch(`${api}${path}`, { headers }),
    async close() {
      await listening.close();
      await installation.close();
      await closeSpecimenServer(server);
      await database.stop();
    },
  };
}

/** A tiled pyramidal TIFF of one color. */
export async function plainSlide(color: { r: number; g: number; b: number }, width = 600, height = 400): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: color } })
    .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 90 })
    .toBuffer();
}

/** Mean color of an encoded picture, rounded. */
export async function meanColor(bytes: Uint8Array | ArrayBuffer): Promise<number[]> {
  const { channels } = await sharp(bytes instanceof ArrayBuffer ? Buffer.from(bytes) : bytes).stats();
  return channels.map(({ mean }) => Math.round(mean));
}
