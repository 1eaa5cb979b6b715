import type { SampleType } from '../../tilesource/raster.js';
import type { AxisName } from './arrays.js';

/** The version of Zarr: 3 for OME-Zarr 0.5, 2 for 0.4. */
export type ZarrVersion = 2 | 3;

/** How chunks are compressed. */
export type ChunkCodec = 'zstd' | 'none';

/** A group or an array, in a form from which both versions are written. */
export type ZarrNode =
  | { kind: 'group'; /** Members of the OME metadata. */ ome: Readonly<Record<string, unknown>> }
  | {
      kind: 'array';
      shape: readonly number[];
      chunkShape: readonly number[];
      axes: readonly AxisName[];
      dtype: SampleType;
      codec: ChunkCodec;
    };

/** Groups and arrays by their paths, `''` for the root. */
export type ZarrNodes = ReadonlyMap<string, ZarrNode>;

const version2Types: Readonly<Record<SampleType, string>> = {
  uint8: '|u1',
  int8: '|i1',
  uint16: '<u2',
  int16: '<i2',
  uint32: '<u4',
  int32: '<i4',
  float32: '<f4',
  float64: '<f8',
};

/** The compression level of zstd. Higher levels take several times as long and save little. */
export const zstdLevel = 1;

const omeVersions = { 2: '0.4', 3: '0.5' } as const;
/** Members of the metadata that contain the version of OME-Zarr in 0.4. */
const versionedMembers = ['omero', 'image-label'];

function attributesOf(node: ZarrNode, version: ZarrVersion): Record<string, unknown> {
  if (node.kind === 'array' || Object.keys(node.ome).length === 0) return {};
  if (version === 3) return { ome: { version: omeVersions[3], ...node.ome } };
  const omeVersion = { version: omeVersions[2] };
  return Object.fromEntries(
    Object.entries(node.ome).map(([name, value]) => {
      if (name === 'multiscales') return [name, (value as object[]).map((multiscale) => ({ ...omeVersion, ...multiscale }))];
      return [name, versionedMembers.includes(name) ? { ...omeVersion, ...(value as object) } : value];
    }),
  );
}

function documentInVersion3(node: ZarrNode): Record<string, unknown> {
  if (node.kind === 'group') return { zarr_format: 3, node_type: 'group', attributes: attributesOf(node, 3) };
  const zstd = { name: 'zstd', configuration: { level: zstdLevel, checksum: false } };
  return {
    zarr_format: 3,
    node_type: 'array',
    shape: node.shape,
    data_type: node.dtype,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: node.chunkShape } },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    fill_value: 0,
    codecs: [{ name: 'bytes', configuration: { endian: 'little' } }, ...(node.codec === 'zstd' ? [zstd] : [])],
    dimension_names: node.axes,
    attributes: {},
  };
}

function arrayInVersion2({ shape, chunkShape, dtype, codec }: ZarrNode & { kind: 'array' }): Record<string, unknown> {
  return {
    zarr_format: 2,
    shape,
    chunks: chunkShape,
    dtype: version2Types[dtype],
    compressor: codec === 'zstd' ? { id: 'zstd', level: zstdLevel } : null,
    fill_value: 0,
    order: 'C',
    filters: null,
    dimension_separator: '/',
  };
}

const joinPath = (path: string, name: string) => (path === '' ? name : `${path}/${name}`);

/** The documents of a node in Zarr 2, by name. */
function documentsInVersion2(node: ZarrNode): Record<string, unknown> {
  if (node.kind === 'array') return { '.zarray': arrayInVersion2(node), '.zattrs': {} };
  return { '.zgroup': { zarr_format: 2 }, '.zattrs': attributesOf(node, 2) };
}

/** The names of documents in each version. A store has only documents of its own version. */
export const documentNames: Readonly<Record<ZarrVersion, readonly string[]>> = {
  2: ['.zgroup', '.zarray', '.zattrs', '.zmetadata'],
  3: ['zarr.json'],
};

/**
 * A document of a node.
 *
 * @param consolidated the nodes that the document of the root lists too; `null` if it lists no nodes.
 * @returns `null` if the node has no such document.
 */
export function documentOf(
  nodes: ZarrNodes,
  path: string,
  name: string,
  { version, consolidated }: { version: ZarrVersion; consolidated: ZarrNodes | null },
): Record<string, unknown> | null {
  const node = nodes.get(path);
  if (node === undefined) return null;
  const listsNodes = path === '' && consolidated !== null;
  if (version === 3) {
    if (!listsNodes) return documentInVersion3(node);
    const metadata = Object.fromEntries(
      [...consolidated]
        .filter(([nodePath]) => nodePath !== '')
        .map(([nodePath, listedNode]) => [nodePath, documentInVersion3(listedNode)]),
    );
    return { ...documentInVersion3(node), consolidated_metadata: { kind: 'inline', must_understand: false, metadata } };
  }
  if (name !== '.zmetadata') return (documentsInVersion2(node)[name] as Record<string, unknown> | undefined) ?? null;
  if (!listsNodes) return null;
  const metadata = Object.fromEntries(
    [...consolidated].flatMap(([nodePath, listedNode]) =>
      Object.entries(documentsInVersion2(listedNode)).map(([documentName, value]) => [joinPath(nodePath, documentName), value]),
    ),
  );
  return { zarr_consolidated_format: 1, metadata };
}

/** Moves nodes below a path. */
export function moveBelow(path: string, nodes: ZarrNodes): [string, ZarrNode][] {
  return [...nodes].map(([nodePath, node]) => [nodePath === '' ? path : joinPath(path, nodePath), node]);
}
