import { TileSourceError } from '../../../errors.js';
import { zarrTypeBytes, type ByteCodec, type ZarrType } from './zarr-chunk.js';
import type { SampleType } from '../../raster.js';
import { isObject, list, member, textOf, type JsonObject } from './json.js';

/** Maximum number of axes of an array. */
const maxAxes = 8;
/** Maximum number of bytes of a decoded chunk. */
const maxChunkBytes = 2 ** 28;
/** Maximum number of chunks of a shard, whose index has 16 bytes for each. */
const maxChunksOfShard = 2 ** 20;

/** How chunks are encoded. */
interface ChunkPacking {
  codecs: readonly ByteCodec[];
  bigEndian: boolean;
  order: readonly number[] | null;
}

/** The metadata of an array. */
export interface ArrayMetadata extends ChunkPacking {
  shape: readonly number[];
  /** Size of a chunk in samples. */
  chunk: readonly number[];
  /** For arrays with several chunks in one file: the size of such a shard in samples, and the position and encoding of its index. */
  shard: { shape: readonly number[]; indexAtEnd: boolean; hasChecksum: boolean } | null;
  type: ZarrType;
  fill: number;
  /** The path of the file of a chunk or shard, relative to the array. */
  fileOf: (position: readonly number[]) => string;
}

/** The type that samples have in rasters. */
export function sampleTypeOf(type: ZarrType): SampleType {
  if (type === 'bool') return 'uint8';
  if (type === 'float16') return 'float32';
  return type === 'int64' || type === 'uint64' ? 'float64' : type;
}

function sizes(value: readonly unknown[], what: string): number[] {
  if (value.length < 2 || value.length > maxAxes || !value.every((size) => Number.isSafeInteger(size) && Number(size) > 0)) {
    throw new TileSourceError(`The Zarr array has an unusual ${what}: ${JSON.stringify(value).slice(0, 100)}.`);
  }
  return value.map(Number);
}

function fillOf(value: unknown): number {
  if (value === 'Infinity') return Infinity;
  if (value === '-Infinity') return -Infinity;
  if (value === 'NaN') return Number.NaN;
  return typeof value === 'boolean' || typeof value === 'number' ? Number(value) : 0;
}

const byteCodecs: ReadonlySet<string> = new Set(['blosc', 'gzip', 'zlib', 'zstd', 'lz4', 'crc32c']);

function byteCodec(name: string | null): ByteCodec {
  const plain = name?.replace(/^numcodecs\./, '') ?? '';
  if (!byteCodecs.has(plain))
    throw new TileSourceError(`The Zarr array is compressed by the codec ${plain}, which is not supported.`);
  return { name: plain as ByteCodec['name'] };
}

const plainTypes: ReadonlyMap<string, ZarrType> = new Map(
  Object.entries({
    b1: 'bool',
    i1: 'int8',
    u1: 'uint8',
    i2: 'int16',
    u2: 'uint16',
    i4: 'int32',
    u4: 'uint32',
    i8: 'int64',
    u8: 'uint64',
    f2: 'float16',
    f4: 'float32',
    f8: 'float64',
  } as const),
);

function refuseType(type: unknown): never {
  throw new TileSourceError(
    `The Zarr array has samples of the type ${JSON.stringify(type ?? null).slice(0, 100)}, which is not supported.`,
  );
}

/** Reads `.zarray`. @throws TileSourceError if it contradicts itself, or has unsupported features. */
export function readArrayV2(json: JsonObject): ArrayMetadata {
  const dtype = textOf(json, 'dtype') ?? '';
  const type = plainTypes.get(dtype.slice(1)) ?? refuseType(json.dtype);
  const shape = sizes(list(json, 'shape'), 'shape');
  const chunk = sizes(list(json, 'chunks'), 'shape of chunks');
  if (list(json, 'filters').length > 0) throw new TileSourceError('The Zarr array has filters, which are not supported.');
  const { compressor } = json;
  const separator = textOf(json, 'dimension_separator') ?? '.';
  return checked({
    shape,
    chunk,
    shard: null,
    type,
    fill: fillOf(json.fill_value),
    codecs: isObject(compressor) ? [byteCodec(textOf(compressor, 'id'))] : [],
    bigEndian: dtype.startsWith('>'),
    order: textOf(json, 'order') === 'F' ? shape.map((_, axis) => shape.length - 1 - axis) : null,
    fileOf: (position) => position.join(separator),
  });
}

/** Reads the chain of codecs of a chunk. */
function readPacking(codecs: readonly unknown[], axes: number): ChunkPacking {
  const packing: { codecs: ByteCodec[]; bigEndian: boolean; order: readonly number[] | null } = {
    codecs: [],
    bigEndian: false,
    order: null,
  };
  for (const codec of codecs) {
    const name = textOf(codec, 'name');
    const configuration = member(codec, 'configuration');
    if (name === 'bytes') packing.bigEndian = textOf(configuration, 'endian') === 'big';
    else if (name === 'transpose') {
      const order = list(configuration, 'order').map(Number);
      const isPermutation = order.length === axes && order.toSorted((a, b) => a - b).every((axis, i) => axis === i);
      if (!isPermutation || packing.order !== null) throw new TileSourceError('The Zarr array has an impossible order of axes.');
      packing.order = order;
    } else packing.codecs.push(byteCodec(name));
  }
  return packing;
}

/** Reads `zarr.json` of an array. @throws TileSourceError if it contradicts itself, or has unsupported features. */
export function readArrayV3(json: JsonObject): ArrayMetadata {
  const type = json.data_type as ZarrType;
  if (typeof type !== 'string' || !Object.hasOwn(zarrTypeBytes, type)) refuseType(json.data_type);
  const shape = sizes(list(json, 'shape'), 'shape');
  const grid = member(json, 'chunk_grid');
  if (textOf(grid, 'name') !== 'regular') throw new TileSourceError('The Zarr array has chunks of different sizes.');
  const outer = sizes(list(member(grid, 'configuration'), 'chunk_shape'), 'shape of chunks');
  const encoding = member(json, 'chunk_key_encoding');
  const isVersion2Key = textOf(encoding, 'name') === 'v2';
  const separator = textOf(member(encoding, 'configuration'), 'separator') ?? (isVersion2Key ? '.' : '/');
  const codecs = list(json, 'codecs');
  const common = {
    shape,
    type,
    fill: fillOf(json.fill_value),
    fileOf: (position: readonly number[]) => (isVersion2Key ? position.join(separator) : ['c', ...position].join(separator)),
  };
  const sharding = codecs.find((codec) => textOf(codec, 'name') === 'sharding_indexed');
  if (sharding === undefined) return checked({ ...common, ...readPacking(codecs, shape.length), chunk: outer, shard: null });
  if (codecs.length > 1)
    throw new TileSourceError('The Zarr array has shards that are compressed as a whole, which is not supported.');
  const configuration = member(sharding, 'configuration');
  const chunk = sizes(list(configuration, 'chunk_shape'), 'shape of chunks');
  if (chunk.length !== outer.length || chunk.some((size, axis) => outer[axis]! % size !== 0)) {
    throw new TileSourceError('The Zarr array has shards whose size is not a multiple of the chunk size.');
  }
  const index = list(configuration, 'index_codecs').map((codec) => textOf(codec, 'name'));
  if (index.some((name) => name !== 'bytes' && name !== 'crc32c')) {
    throw new TileSourceError('The Zarr array has compressed shard indexes, which is not supported.');
  }
  const shard = {
    shape: outer,
    indexAtEnd: textOf(configuration, 'index_location') !== 'start',
    hasChecksum: index.includes('crc32c'),
  };
  return checked({ ...common, ...readPacking(list(configuration, 'codecs'), shape.length), chunk, shard });
}

function checked(array: ArrayMetadata): ArrayMetadata {
  const { shape, chunk, shard, type } = array;
  if (chunk.length !== shape.length) throw new TileSourceError('The Zarr array and its chunks have different numbers of axes.');
  const bytes = chunk.reduce((product, size) => product * size, zarrTypeBytes[type]);
  if (bytes > maxChunkBytes) {
    throw new TileSourceError(`The Zarr array has chunks of ${bytes} bytes; at most ${maxChunkBytes} are supported.`);
  }
  const inner = shard?.shape.reduce((product, size, axis) => product * (size / chunk[axis]!), 1) ?? 1;
  if (inner > maxChunksOfShard)
    throw new TileSourceError(`The Zarr array has ${inner} chunks in each shard; at most ${maxChunksOfShard}.`);
  return array;
}
