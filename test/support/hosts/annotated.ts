import { startHost, type Answer, type Client, type HostOptions, type TestHost } from './reference-host.js';

type Json = Record<string, unknown>;

/** A host with users, folders and items for tests of annotations. */
export interface Annotated {
  host: TestHost;
  admin: Client;
  /** May write in the private folder. */
  writer: Client;
  /** May read in the private folder. */
  reader: Client;
  /** May do nothing in the private folder. */
  stranger: Client;
  publicFolder: string;
  privateFolder: string;
  /** In the public folder. */
  item: string;
  /** In the private folder. */
  privateItem: string;
  /** Creates an annotation as somebody, by default the administrator on the public item. */
  annotate(json: unknown, options?: { as?: Client; on?: string }): Promise<Json & { _id: string }>;
  close(): Promise<void>;
}

/** Starts {@link Annotated}. */
export async function startAnnotated(options: HostOptions = {}): Promise<Annotated> {
  const host = await startHost(options);
  const admin = await host.register('admin');
  const [writer, reader, stranger] = await Promise.all(['writer', 'reader', 'stranger'].map((name) => host.register(name)));
  const collection = await admin.create('/collection', { name: 'Images', public: true });
  const parent = { parentType: 'collection', parentId: collection };
  const publicFolder = await admin.create('/folder', { ...parent, name: 'Public', public: true });
  const privateFolder = await admin.create('/folder', { ...parent, name: 'Private', public: false });
  const access = {
    users: [
      { id: admin.id, level: 2 },
      { id: writer!.id, level: 1 },
      { id: reader!.id, level: 0 },
    ],
    groups: [],
  };
  await admin.ok('PUT', `/folder/${privateFolder}/access`, { query: { access: JSON.stringify(access), public: false } });
  const item = await admin.create('/item', { folderId: publicFolder, name: 'slide one.svs' });
  const privateItem = await admin.create('/item', { folderId: privateFolder, name: 'secret_slide.svs' });
  return {
    host,
    admin,
    writer: writer!,
    reader: reader!,
    stranger: stranger!,
    publicFolder,
    privateFolder,
    item,
    privateItem,
    async annotate(json, { as = admin, on = item } = {}) {
      return (await as.ok('POST', '/annotation', { query: { itemId: on }, json })) as unknown as Json & { _id: string };
    },
    close: () => host.close(),
  };
}

/** A point at (x, x). */
export function point(x: number, more: Json = {}): Json {
  return { type: 'point', center: [x, x, 0], ...more };
}

/** An element id that ends with a number. */
export function elementId(n: number): string {
  return n.toString(16).padStart(24, '0');
}

/** The elements of a response. */
export function elementsOf(body: unknown): Json[] {
  return ((body as { annotation: { elements: Json[] } }).annotation.elements ?? []) as Json[];
}

/** JSON and records of a binary answer. */
export function parseCentroids({ bytes }: Answer): { json: Json; records: [string, number, number, number, number][] } {
  const first = bytes.indexOf(0);
  const last = bytes.lastIndexOf(0);
  const data = bytes.subarray(first + 1, last);
  const records: [string, number, number, number, number][] = [];
  for (let at = 0; at < data.length; at += 28) {
    const id = data.toString('hex', at, at + 12);
    const numbers = [12, 16, 20].map((offset) => data.readFloatLE(at + offset)) as [number, number, number];
    records.push([id, ...numbers, data.readInt32LE(at + 24)]);
  }
  const json = JSON.parse(Buffer.concat([bytes.subarray(0, first), bytes.subarray(last + 1)]).toString()) as Json;
  return { json, records };
}
