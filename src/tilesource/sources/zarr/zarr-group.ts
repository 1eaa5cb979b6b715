import { MissingPartsError, TileSourceError } from '../../../errors.js';
import type { FileTree } from '../../tile-source.js';
import type { ArchiveTree } from '../../archive/zip-tree.js';
import type { FileBlocks } from '../../process/decoded-blocks.js';
import { readArrayV2, readArrayV3 } from './array-metadata.js';
import { isObject, readJson, type JsonObject } from './json.js';
import { readOme, type OmeImage } from './ome.js';
import { ZarrArray } from './zarr-array.js';

/** Names of the metadata files of a group, in both versions. */
const groupFileNames = ['zarr.json', '.zattrs', '.zgroup'];

/** An image of a group: its description, and its arrays, the finest first. */
export interface ZarrImage {
  /** Path of the group, empty or with a slash at its end. */
  path: string;
  ome: OmeImage;
  arrays: readonly ZarrArray[];
}

/** The path of the outermost group, empty or with a slash at its end. @throws TileSourceError if there is no group. */
export function findOutermostGroup(tree: ArchiveTree): string {
  let outermostGroup: string | null = null;
  for (const path of tree.paths()) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (!groupFileNames.includes(name)) continue;
    const folder = path.slice(0, path.length - name.length);
    if (outermostGroup === null || folder.split('/').length < outermostGroup.split('/').length) outermostGroup = folder;
  }
  if (outermostGroup === null) throw new TileSourceError('The file contains no Zarr group (zarr.json, .zgroup or .zattrs).');
  return outermostGroup;
}

/** The attributes of a group, which are empty if it has none. */
async function readAttributes(tree: FileTree, group: string, signal?: AbortSignal): Promise<JsonObject> {
  const json = await readJson(tree, `${group}zarr.json`, signal);
  if (json !== null) return isObject(json.attributes) ? json.attributes : {};
  return (await readJson(tree, `${group}.zattrs`, signal)) ?? {};
}

async function openArray(tree: FileTree, path: string, blocks: FileBlocks, signal?: AbortSignal): Promise<ZarrArray> {
  const json = await readJson(tree, `${path}zarr.json`, signal);
  if (json !== null) return new ZarrArray(tree, path, readArrayV3(json), blocks);
  const version2Json = await readJson(tree, `${path}.zarray`, signal);
  if (version2Json === null) throw await missingArrayError(tree, path);
  return new ZarrArray(tree, path, readArrayV2(version2Json), blocks);
}

async function missingArrayError(tree: FileTree, path: string): Promise<TileSourceError> {
  const group = path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);
  const isVersion3 = (await tree.file(`${group}zarr.json`)) !== null;
  const message = `The OME-Zarr has no array ${path}.`;
  return tree.mayGrow === true
    ? new MissingPartsError(message, [`${path}${isVersion3 ? 'zarr.json' : '.zarray'}`])
    : new TileSourceError(message);
}

/**
 * Opens the image of a group, or the first image of a collection.
 *
 * @param root path of the group, empty or with a slash at its end.
 * @throws TileSourceError if there is no image, or it is invalid.
 */
export async function openZarrImage(tree: FileTree, root: string, blocks: FileBlocks, signal?: AbortSignal): Promise<ZarrImage> {
  const attributes = await readAttributes(tree, root, signal);
  const omeAttributes = isObject(attributes.ome) ? attributes.ome : attributes;
  if (isObject(omeAttributes.plate) || isObject(omeAttributes.well))
    throw new TileSourceError('The OME-Zarr contains wells of a plate, which is not supported.');
  let path = root;
  let ome = readOme(attributes);
  if (ome === null) {
    path = `${root}0/`;
    ome = readOme(await readAttributes(tree, path, signal));
  }
  if (ome === null) throw new TileSourceError('The Zarr contains no image with OME metadata (multiscales).');
  const arrays: ZarrArray[] = [];
  for (const dataset of ome.datasets) arrays.push(await openArray(tree, `${path}${dataset.path}/`, blocks, signal));
  for (const { metadata } of arrays) {
    if (metadata.shape.length !== ome.axes.length) {
      throw new TileSourceError(`The OME-Zarr has ${ome.axes.length} axes, but one of its arrays has ${metadata.shape.length}.`);
    }
    if (metadata.type !== arrays[0]!.metadata.type) throw new TileSourceError('The OME-Zarr has levels of different types.');
  }
  return { path, ome, arrays };
}
