import { randomBytes } from 'node:crypto';
import { slideHeight, slideWidth } from '../support/polygons.js';
import type { Kind } from './clients.js';
import { annotationElements, slideSize, type Scene } from './scene.js';

const tileSize = 256;
const columns = slideSize / tileSize;
/** Tiles in the cache, all of one level. */
const cachedTiles = 512;
const viewportElements = 200;
const uploadBytes = 1024 * 1024;
const thumbnailSizes = 200;

const random = (below: number) => Math.floor(Math.random() * below);

let uncachedCount = 0;
/**
 * A parameter that changes the name of a picture but not the picture, because subsampling below 0 is 0. No response therefore comes from a
 * cache.
 */
const uncachedParameter = () => `jpegSubsampling=-${++uncachedCount}`;

/** The last acknowledged value of each element. */
export type Acknowledged = Map<string, number>;

/** The path of one of the cached tiles. */
export function cachedTilePath({ itemId, levels }: Scene, index: number): string {
  return `/api/v1/item/${itemId}/tiles/zxy/${levels - 1}/${index % columns}/${Math.floor(index / columns)}`;
}

/** All kinds of clients in their usual shares, in total `clients` clients. */
export function mixedKinds(url: string, bareUrl: string, scene: Scene, clients: number, acknowledged: Acknowledged): Kind[] {
  const { tokens, itemId, uploadFolder, annotationId } = scene;
  const headers = (client: number) => ({ 'Girder-Token': tokens[client % tokens.length]! });
  const item = `/api/v1/item/${itemId}/tiles`;
  const kind = (name: string, share: number, next: Kind['next']): Kind => ({
    name,
    clients: Math.max(1, Math.round(share * clients)),
    url,
    headers,
    next,
  });
  const side = Math.sqrt((viewportElements * slideWidth * slideHeight) / annotationElements);
  const region = () => `left=${random(slideSize - 1024)}&top=${random(slideSize - 1024)}&regionWidth=1024&regionHeight=1024`;
  return [
    // These clients show how busy the machine is. Without a pause, they would send a thousand requests per second, and take capacity from
    // the server.
    { name: 'bare Express', clients: Math.max(1, Math.round(clients / 50)), url: bareUrl, pauseMs: 50, next: () => get('/tile') },
    kind('cached tile', 0.4, () => get(cachedTilePath(scene, random(cachedTiles)))),
    kind('cold tile, stored', 0.075, () => get(`${cachedTilePath(scene, random(columns * columns))}?${uncachedParameter()}`)),
    kind('cold tile, decoded', 0.075, () =>
      get(`${cachedTilePath(scene, random(columns * columns))}?encoding=PNG&${uncachedParameter()}`),
    ),
    kind('region', 0.1, () => get(`${item}/region?${region()}&width=700&height=700`)),
    kind('thumbnail', 0.075, () => get(`${item}/thumbnail?width=${64 + random(thumbnailSizes)}`)),
    kind('viewport', 0.125, () => {
      const [left, top] = [random(slideWidth - side), random(slideHeight - side)];
      return get(`/api/v1/annotation/${annotationId}?left=${left}&top=${top}&right=${left + side}&bottom=${top + side}`);
    }),
    kind('edit', 0.1, editor(scene, annotationId, Math.round(0.1 * clients), acknowledged)),
    kind('upload', 0.05, uploader(uploadFolder)),
  ];
}

const get = (path: string) => ({ method: 'GET', path }) as const;

/** Each client changes its own elements, in one of two ways. */
function editor({ elementIds }: Scene, annotationId: string, editors: number, acknowledged: Acknowledged): Kind['next'] {
  return (client, count) => {
    const elementsPerEditor = Math.floor(elementIds.length / editors);
    const id = elementIds[client * elementsPerEditor + (count % elementsPerEditor)]!;
    const value = 3 + ((client + count) % 97);
    const onSuccess = () => void acknowledged.set(id, value);
    const path = `/api/v1/annotation/${annotationId}`;
    const patch = [{ op: 'replace', path: `elements/id:${id}/lineWidth`, value }];
    return count % 2 === 0
      ? { method: 'PATCH', path: `${path}/elements/${id}`, body: JSON.stringify({ lineWidth: value }), onSuccess }
      : { method: 'PATCH', path, body: JSON.stringify(patch), onSuccess };
  };
}

/** Files of random bytes, each removed again with its item. */
function uploader(folder: string): Kind['next'] {
  const body = randomBytes(uploadBytes);
  const itemIds = new Map<number, string>();
  return (client, count) => {
    const lastItemId = itemIds.get(client);
    if (lastItemId !== undefined) {
      return { method: 'DELETE', path: `/api/v1/item/${lastItemId}`, onSuccess: () => void itemIds.delete(client) };
    }
    const query = `parentType=folder&parentId=${folder}&name=upload-${client}-${count}.bin&size=${body.length}`;
    const onSuccess = (text: string) => {
      const id = /"itemId": ?"([0-9a-f]{24})"/.exec(text)?.[1];
      if (id !== undefined) itemIds.set(client, id);
    };
    return { method: 'POST', path: `/api/v1/file?${query}`, body, onSuccess };
  };
}
