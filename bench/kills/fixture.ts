import sharp from 'sharp';
import type { Caller } from './caller.js';
import type { Random } from './random.js';
import type { KillableServer } from './killable-server.js';
import type { Fixture } from './writers.js';

const elementCount = 2000;
const side = 700;

/** Creates the data that the writers work on, in an empty host, before anything is killed. */
export async function prepareFixture(parts: { caller: Caller; server: KillableServer; random: Random }): Promise<Fixture> {
  const { caller } = parts;
  const person = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
  const { _id: userId, authToken } = await caller.request('POST', '/user', person);
  caller.token = (authToken as { token: string }).token;
  const { _id: collection } = await caller.request('POST', '/collection', { name: 'bench' });
  const createFolder = async (name: string, parentType = 'collection', parentId = collection) =>
    (await caller.request('POST', '/folder', { parentType, parentId, name }))._id;
  const [uploads, configurations, pictures, top] = [
    await createFolder('uploads'),
    await createFolder('configurations'),
    await createFolder('pictures'),
    await createFolder('tree'),
  ];
  const inner = await createFolder('inner', 'folder', top);
  const tree = [top, inner, await createFolder('innermost', 'folder', inner)];
  const background = { r: 180, g: 120, b: 160 };
  const picture = await sharp({ create: { width: side, height: side, channels: 3, background } })
    .tiff({ tile: true, pyramid: true, compression: 'jpeg' })
    .toBuffer();
  const images: string[] = [];
  for (const name of ['a.tif', 'b.tif']) {
    const query = { parentType: 'folder', parentId: pictures, name, size: picture.length };
    images.push(String((await caller.request('POST', '/file', query, picture)).itemId));
  }
  const elements = Array.from({ length: elementCount }, (_, x) => ({ type: 'point', center: [x, x, 0], lineWidth: 1 }));
  const body = JSON.stringify({ name: 'edited', elements });
  const { _id: annotation } = await caller.request('POST', '/annotation', { itemId: images[0]! }, body);
  const storedAnnotation = (await caller.request('GET', `/annotation/${annotation}`)).annotation as {
    elements: { id: string }[];
  };
  const elementIds = storedAnnotation.elements.map(({ id }) => id);
  return { ...parts, userId, uploads, configurations, tree, images, annotation, elementIds };
}
