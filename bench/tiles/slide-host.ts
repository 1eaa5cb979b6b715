import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InstallOptions } from '../../src/index.js';
import { cacheDirectory } from '../../src/reference-host/database/cache-directory.js';
import { createReferenceHost, startDatabase } from '../../src/reference-host/index.js';
import { makeSyntheticSlide } from '../../src/reference-host/synthetic-slide/slide.js';

/** Side in pixels of the slide that is measured. */
export const slideSize = 8192;

/** A reference host that serves the slide to one user. */
export interface SlideHost {
  url: string;
  /** Headers with the token. */
  headers: Record<string, string>;
  folderId: string;
  itemId: string;
  /** Path of `item/…/tiles` of the slide. */
  tiles: string;
  levels: number;
  /** Path of the slide's file. */
  file: string;
  close(): Promise<void>;
}

/** Starts the host. The slide is made once and kept in the user's cache folder. */
export async function startSlideHost(install: InstallOptions = {}): Promise<SlideHost> {
  const cacheFolder = cacheDirectory(process.env);
  await mkdir(cacheFolder, { recursive: true });
  const file = join(cacheFolder, `bench-slide-${slideSize}.tif`);
  await makeSyntheticSlide(file, { size: slideSize });
  const directory = await mkdtemp(join(tmpdir(), 'bench-tiles-'));
  const database = await startDatabase({ env: process.env, directory: null });
  const host = await createReferenceHost({ mongoUri: database.uri, dataDirectory: directory, passwordMemoryKiB: 8, install });
  const close = async () => {
    await host.close();
    await database.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const { url } = await host.listen();
    const headers: Record<string, string> = {};
    const call = async (method: string, path: string, query: Record<string, string | number> = {}, body?: Uint8Array) => {
      const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
      const address = `${url}/api/v1${path}?${new URLSearchParams(pairs).toString()}`;
      const response = await fetch(address, { method, headers, ...(body && { body }) });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as { _id: string; itemId: string; levels: number; authToken: { token: string } };
    };
    const person = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
    headers['Girder-Token'] = (await call('POST', '/user', person)).authToken.token;
    const collection = (await call('POST', '/collection', { name: 'bench' }))._id;
    const place = { parentType: 'collection', parentId: collection, name: 'bench' };
    const folderId = (await call('POST', '/folder', place))._id;
    const bytes = await readFile(file);
    const upload = { parentType: 'folder', parentId: folderId, name: 'slide.tif', size: bytes.length };
    const { itemId } = await call('POST', '/file', upload, bytes);
    const tiles = `/item/${itemId}/tiles`;
    const { levels } = await call('GET', tiles);
    return { url, headers, folderId, itemId, tiles: `/api/v1${tiles}`, levels, file, close };
  } catch (error) {
    await close();
    throw error;
  }
}
