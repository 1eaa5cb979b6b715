import sharp from 'sharp';
import { pattern } from './pattern.js';
import type { Client } from '../hosts/reference-host.js';

/** A small pyramidal TIFF that a source reads in tiles. */
export async function pyramid(width = 600, height = 400): Promise<Buffer> {
  return sharp(pattern(width, height, 3), { raw: { width, height, channels: 3 } })
    .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 90 })
    .toBuffer();
}

/** A folder of a new public or private collection. */
export async function newFolder(client: Client, name: string, isPublic = false): Promise<string> {
  const collection = await client.create('/collection', { name, public: isPublic });
  return client.create('/folder', { parentType: 'collection', parentId: collection, name, public: isPublic });
}

/** Uploads bytes as a file of a new item of a folder. @returns the id of the item */
export async function uploadItem(client: Client, folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const query = { parentType: 'folder', parentId: folder, name, size: bytes.length };
  const file = await client.ok('POST', '/file', { query, body: bytes });
  return String(file.itemId);
}
