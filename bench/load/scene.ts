import { createReadStream } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory } from '../../src/reference-host/database/cache-directory.js';
import { makeSyntheticSlide } from '../../src/reference-host/synthetic-slide/slide.js';
import { writePolygons } from '../support/polygons.js';

/** Side in pixels of the slide. */
export const slideSize = 8192;
/** Number of elements of the annotation that all clients read and edit. */
export const annotationElements = 50_000;
const userCount = 8;
const listedElements = 4000;

/** The records that the clients use. */
export interface Scene {
  /** Tokens of users who may write. */
  tokens: string[];
  /** A large image. */
  itemId: string;
  levels: number;
  /** The folder for uploads. */
  uploadFolder: string;
  annotationId: string;
  /** Ids of some elements of the annotation. */
  elementIds: string[];
  /** The current elements. */
  elements(limit: number): Promise<{ id: string; lineWidth: number }[]>;
}

type Reply = { _id: string; itemId: string; levels: number; authToken: { token: string } };
type Query = Readonly<Record<string, string | number>>;

/** Fills an empty host with users, a slide and its annotation. */
export async function prepareScene(url: string, directory: string, size = annotationElements): Promise<Scene> {
  const call = async <Answer = Reply>(
    token: string,
    method: string,
    path: string,
    query: Query = {},
    body?: RequestInit['body'],
  ) => {
    const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
    const headers: Record<string, string> = token === '' ? {} : { 'Girder-Token': token };
    const request: RequestInit = { method, headers, ...(body !== undefined && { body, duplex: 'half' }) };
    const response = await fetch(`${url}/api/v1${path}?${new URLSearchParams(pairs).toString()}`, request);
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Answer;
  };
  const register = async (login: string) => {
    const person = { login, email: `${login}@example.org`, firstName: 'B', lastName: 'B', password: 'bench.password' };
    const { _id, authToken } = await call('', 'POST', '/user', person);
    return { id: _id, token: authToken.token };
  };
  const admin = await register('bench');
  const otherUsers = await Promise.all(Array.from({ length: userCount }, (_, i) => register(`bench${i}`)));
  const { token } = admin;
  const { _id: collection } = await call(token, 'POST', '/collection', { name: 'bench' });
  const users = [{ id: admin.id, level: 2 }, ...otherUsers.map(({ id }) => ({ id, level: 1 }))];
  const createFolder = async (name: string) => {
    const { _id } = await call(token, 'POST', '/folder', { parentType: 'collection', parentId: collection, name });
    await call(token, 'PUT', `/folder/${_id}/access`, { access: JSON.stringify({ users, groups: [] }), public: 'false' });
    return _id;
  };
  const [slides, uploadFolder] = [await createFolder('slides'), await createFolder('uploads')];

  const cacheFolder = cacheDirectory(process.env);
  await mkdir(cacheFolder, { recursive: true });
  const file = join(cacheFolder, `bench-slide-${slideSize}.tif`);
  await makeSyntheticSlide(file, { size: slideSize });
  const bytes = await readFile(file);
  const upload = { parentType: 'folder', parentId: slides, name: 'slide.tif', size: bytes.length };
  const { itemId } = await call(token, 'POST', '/file', upload, bytes);
  const { levels } = await call(token, 'GET', `/item/${itemId}/tiles`);

  const polygons = join(directory, 'polygons.json');
  await writePolygons(polygons, size);
  const { _id: annotationId } = await call(token, 'POST', '/annotation', { itemId }, createReadStream(polygons));
  await rm(polygons);
  const elements = async (limit: number) => {
    type Annotation = { annotation: { elements: { id: string; lineWidth: number }[] } };
    return (await call<Annotation>(token, 'GET', `/annotation/${annotationId}`, { limit })).annotation.elements;
  };
  const elementIds = (await elements(listedElements)).map(({ id }) => id);
  return { tokens: otherUsers.map((person) => person.token), itemId, levels, uploadFolder, annotationId, elementIds, elements };
}
