/**
 * Measures frames, searches and annotations as DICOM over HTTP, with token and access check, each in comparison with a reference in the same
 * run: `npm run bench -- dicomweb [images] [polygons]`. See docs/benchmarks.md.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { uidOf } from '../src/features/dicomweb/format/uids.js';
import { buildHost, startHost } from './annotations/children.js';
import { send, type Received } from './annotations/client.js';
import { Targets } from './annotations/targets.js';
import { benchDatabase } from './support/database.js';
import { writePolygons } from './support/polygons.js';
import { compare, requests } from './tiles/measure.js';
import { slideSize, startSlideHost } from './tiles/slide-host.js';

const [images = 100_000, polygons = 1_000_000] = process.argv.slice(3).map(Number);
const frameSide = 256;
const columns = slideSize / frameSide;
const [connections, pageSize, batchSize, rounds] = [16, 100, 1000, 3];

/** The shortest of several times, because other processes can only make a measurement longer. */
async function shortestTime(work: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await work());
  return Math.min(...times);
}

const directory = await mkdtemp(join(tmpdir(), 'bench-dicomweb-'));
const database = await benchDatabase(directory, 'durable');
const databaseUri = (name: string): string => {
  const uri = new URL(database.uri);
  uri.pathname = `/${name}_${process.pid}`;
  return uri.href;
};
const targets = new Targets();

/** Compares stored frames with the route of stored tiles, and pages of many images with an indexed find. */
async function measureSlides(): Promise<void> {
  process.env.MONGODB_URI = databaseUri('bench_dicom_slides');
  // Neither frames nor tiles come from a cache.
  const host = await startSlideHost({ tileCacheBytes: 0 });
  const connection = mongoose.createConnection(process.env.MONGODB_URI);
  try {
    const json = async (path: string, method = 'GET', body?: string) => {
      const headers = { ...host.headers, 'Content-Type': 'application/json' };
      const response = await fetch(`${host.url}/api/v1${path}`, { method, headers, ...(body && { body }) });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return response.json();
    };
    await json(`/item/${host.itemId}/metadata`, 'PUT', JSON.stringify({ PixelSpacing: 0.0005, PatientID: 'P-original' }));
    const { url } = (await json(`/item/${host.itemId}/dicomweb`)) as { url: string };
    const study = `/dicomweb/studies/${url.split('/').at(-1)}`;
    type Row = Record<string, { Value: [string] }>;
    const [finest] = (await json(`${study}/instances?limit=1`)) as Row[];
    const frames = `/api/v1${study}/series/${finest!['0020000E']!.Value[0]}/instances/${finest!['00080018']!.Value[0]}/frames`;
    let next = 0;
    const headers = { ...host.headers, Accept: 'image/jpeg' };
    const tile = (index: number) => `${host.tiles}/zxy/${host.levels - 1}/${index % columns}/${Math.floor(index / columns)}`;
    const requestsTo = (path: (index: number) => string) =>
      requests({ url: host.url, connections, headers, path: () => path(next++ % columns ** 2) });
    const sides = { ours: requestsTo((index) => `${frames}/${index + 1}`), reference: requestsTo(tile), against: 'stored tile' };
    targets.count += 1;
    if (!(await compare('stored frame', sides, { target: 0.8, cpu: true }))) targets.missed += 1;
    await measureSearch(connection, host, json);
  } finally {
    await connection.close();
    await host.close();
  }
}

async function measureSearch(
  connection: mongoose.Connection,
  { itemId, url, headers }: { itemId: string; url: string; headers: Record<string, string> },
  json: (path: string) => Promise<unknown>,
): Promise<void> {
  await connection.asPromise();
  const names = (await connection.listCollections()).map(({ name }) => name);
  const nameOf = (end: RegExp) => names.find((name) => end.test(name))!;
  const items = connection.collection<{ _id: mongoose.Types.ObjectId }>(nameOf(/^items?$/));
  const records = connection.collection<{ _id: string; base: string; keys: object }>(nameOf(/dicom_?image/i));
  const item = await items.findOne({ _id: new mongoose.Types.ObjectId(itemId) });
  const record = await records.findOne({ _id: itemId });
  if (item === null || record === null) throw new Error('The image has no record.');
  const startMs = performance.now();
  // The other images share the file of the first image, because searches do not examine files.
  for (let first = 0; first < images; first += batchSize) {
    const ids = Array.from({ length: batchSize }, () => new mongoose.Types.ObjectId());
    const documents = ids.map((_id, at) => {
      const base = (first + at).toString(16).padStart(22, '0');
      const patient = `P-${String(first + at).padStart(8, '0')}`;
      return {
        ...record,
        _id: String(_id),
        base,
        study: uidOf(base, 'study'),
        keys: { PatientID: patient },
        values: { PatientID: patient },
      };
    });
    await Promise.all([
      items.insertMany(ids.map((_id, at) => ({ ...item, _id, name: `slide ${first + at}` }))),
      records.insertMany(documents),
    ]);
  }
  console.log(`made ${images} images in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
  const find = () => records.find({ 'keys.PatientID': { $gte: 'P-0000', $lt: 'P-0001' } }, { limit: pageSize }).toArray();
  const search = async (query: string): Promise<number> => {
    const answer = await send('GET', `${url}/api/v1/dicomweb/studies?${query}&limit=${pageSize}`, {}, headers['Girder-Token']);
    return answer.ms;
  };
  const timed = async (work: () => Promise<unknown>) => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };
  await find();
  await search('PatientID=P-0000*');
  const reference = await shortestTime(() => timed(find));
  for (const query of ['PatientID=P-0000*', `PatientID=P-0000*&offset=${Math.min(images / 2, 5000)}`, '']) {
    const ms = await shortestTime(() => search(query));
    const detail = `${ms.toFixed(0)} ms; find ${reference.toFixed(1)} ms`;
    if (query === 'PatientID=P-0000*')
      targets.check(`page of ${pageSize} of ${images} images`, ms / reference, 20, '× find', detail);
    else
      targets.print(
        `  with ${query === '' ? 'no condition' : query.split('&')[1]}`,
        `${(ms / reference).toFixed(0)} × find, ${detail}`,
      );
  }
  const scan = await timed(() => json(`/dicomweb/studies?PatientID=*99999*&limit=${pageSize}`));
  targets.print('  with a pattern that no index answers', `${(scan / 1000).toFixed(1)} s`);
}

/** Compares the coordinates of an annotation as bulk data with its GeoJSON, and measures the memory that they take. */
async function measureAnnotation(): Promise<void> {
  const { path: program, remove } = await buildHost();
  const host = await startHost(program, databaseUri('bench_dicom_annotations'), join(directory, 'data'));
  try {
    let token = '';
    const call = (
      method: string,
      path: string,
      query: Record<string, string | number> = {},
      body?: Parameters<typeof send>[2]['body'],
    ) => send(method, `${host.url}/api/v1${path}`, { query, ...(body && { body }) }, token);
    const read = <T>({ text }: Received) => JSON.parse(text) as T;
    const person = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
    ({ token } = read<{ authToken: { token: string } }>(await call('POST', '/user', person)).authToken);
    const collection = read<{ _id: string }>(await call('POST', '/collection', { name: 'bench' }));
    const place = { parentType: 'collection', parentId: collection._id, name: 'bench' };
    const folder = read<{ _id: string }>(await call('POST', '/folder', place));
    const upload = { parentType: 'folder', parentId: folder._id, name: 'slide.blank', size: 5 };
    const { itemId } = read<{ itemId: string }>(await call('POST', '/file', upload, 'blank'));
    await call('PUT', `/item/${itemId}/metadata`, {}, JSON.stringify({ PixelSpacing: 0.0005 }));
    const path = join(directory, 'polygons.json');
    await writePolygons(path, polygons);
    const creation = await call('POST', '/annotation', { itemId }, createReadStream(path));
    console.log(`made ${polygons} polygons in ${(creation.ms / 1000).toFixed(0)} s`);
    const id = /"_id":"([\da-f]{24})"/.exec(creation.text)?.[1];
    const study = read<{ studyInstanceUID: string }>(await call('GET', `/item/${itemId}/dicomweb`)).studyInstanceUID;
    type Row = Record<string, { Value: [string] }>;
    const [row] = read<Row[]>(await call('GET', `/dicomweb/studies/${study}/instances`, { Modality: 'ANN' }));
    const instance = `/dicomweb/studies/${study}/series/${row!['0020000E']!.Value[0]}/instances/${row!['00080018']!.Value[0]}`;
    const before = await host.usage();
    // The first response writes the temporary files, so it is measured once.
    const first = await call('GET', `${instance}/bulkdata/points-0`);
    const memoryGrowth = (await host.usage()).rss - before.rss;
    const geoJson = await shortestTime(async () => (await call('GET', `/annotation/${id}/geojson`)).ms);
    const secondMs = await shortestTime(async () => (await call('GET', instance, { accept: 'application/dicom' })).ms);
    const detail = `${(first.ms / 1000).toFixed(1)} s; GeoJSON ${(geoJson / 1000).toFixed(1)} s`;
    targets.check(`bulk data of ${polygons} polygons`, first.ms / geoJson, 1, '× GeoJSON', detail);
    targets.print('  whole instance afterwards', `${(secondMs / geoJson).toFixed(2)} × GeoJSON`);
    targets.check('  memory above idle', memoryGrowth / 1e6, 150, 'MB');
  } finally {
    await host.stop();
    await remove();
  }
}

try {
  await measureSlides();
  await measureAnnotation();
  console.log(`\n${targets.count - targets.missed} of ${targets.count} targets reached`);
} finally {
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
