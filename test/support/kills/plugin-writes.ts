import { uploadItem } from '../images/images.js';
import type { Client } from '../hosts/reference-host.js';

export type Json = Record<string, unknown>;

/** The subjects of one case: its own folder with an item that is a large image. */
export interface Place {
  folder: string;
  item: string;
  /** Id of the prepared document. */
  prepared: string;
}

/** A write of the plugin. */
export interface PluginWrite {
  steps: readonly string[];
  prepare?: (client: Client, place: Place) => Promise<unknown>;
  /** The requests during or after which the process is killed. */
  act: (client: Client, place: Place) => Promise<unknown>;
  /** Checks the result afterwards. */
  check: (client: Client, place: Place, step: string) => Promise<void>;
}

let places = 0;

/** Makes a folder with an image in it. */
export async function newPlace(client: Client, image: Buffer): Promise<Place> {
  const folder = await client.create('/folder', { parentType: 'user', parentId: client.id!, name: `place ${++places}` });
  return { folder, item: await uploadItem(client, folder, 'image.tif', image), prepared: '' };
}

export const filesOf = async (client: Client, item: string) =>
  (await client.ok('GET', `/item/${item}/files`)) as unknown as (Json & { _id: string })[];

export const markerOf = async (client: Client, item: string) =>
  (await client.ok('GET', `/item/${item}`)).largeImage as Json | undefined;
