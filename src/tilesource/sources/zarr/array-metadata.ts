import { TileSourceError } from '../../../errors.js';
import { zarrTypeBytes, type ByteCodec, type ZarrType } from './zarr-chunk.js';
import type { SampleType } from '../../raster.js';
import { isObject, listMember, objectMember, textMember, type JsonObject } from './json.js';

/** Maximum number of axes of an array. */
const maxAxes = 8;
/** Maximum number of bytes of a decoded chunk. */
const maxChunkBytes = 2 ** 28;
/** Maximum number of chunks of a shard. The shard's index has 16 bytes for each chunk. */
const maxChunksOfShard = 2 ** 20;

/** How chunks are encoded. */
interface ChunkEncoding {
  codecs: readonly ByteCodec[];
  isBigEndian: boolean;
  /** The axes in the order in which samples are stored, the slowest axis first. `null` if this is the order of the array's axes. */
  order: readonly number[] | null;
}

/** The metadata of an array. */
export interface ArrayMetadata extends ChunkEncoding {
  shape: readonly number[];
  /** Size of a chunk in samples. */
  chunkShape: readonly number[];
  /**
   * A shard is a file with several chunks and an index. `shape` is the size of a shard in samples. `null` if each chunk is stored
   * in a separate file.
   */
  shard: { shape: readonly number[]; isIndexAtEnd: boolean; hasChecksum: boolean } | null;
  type: ZarrType;
  fillValue: number;
  /** Returns the path of the file of a shard, or of a chunk if there are no shards, relative to the array. */
  pathOf: (position: readonly number[]) => string;
}

/** The type that samples have in rasters. */
export function sampleTypeOf(type: ZarrType): SampleType {
  if (type === 'bool') return 'uint8';
  if (type === 'float16') return 'float32';
  return type === 'int64' || type === 'uint64' ? 'float64' : type;
}

function requireSizes(value: readonly unknown[], what: string): number[] {
  if (value.length < 2 || value.length > maxAxes || !value.every((size) => Number.isSafeInteger(size) && Number(size) > 0)) {
    throw new TileSourceError(`The Zarr array has an unusual ${what}: ${JSON.stringify(value).slice(0, 100)}.`);
  }
  return value.map(Number);
}

function parseFillValue(value: unknown): number {
  if (value === 'Infinity') return Infinity;
  if (value === '-Infinity') return -Infinity;
  if (value === 'NaN') return Number.NaN;
  return typeof value === 'boolean' || typeof value === 'number' ? Number(value) : 0;
}

const byteCodecs: ReadonlySet<string> = new Set(['blosc', 'gzip', 'zlib', 'zstd', 'lz4', 'crc32c']);

function parseByteCodec(name: string | null): ByteCodec {
  const codecName = name?.replace(/^numcodecs\./, '') ?? '';
  if (!byteCodecs.has(codecName))
    throw new TileSourceError(`The Zarr array is compressed by the codec ${codecName}, which is not supported.`);
  return { name: codecName as ByteCodec['name'] };
}

const typesByCode: ReadonlyMap<string, ZarrType> = new Map(
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
  const dtype = textMember(json, 'dtype') ?? '';
  const type = typesByCode.get(dtype.slice(1)) ?? refuseType(json.dtype);
  const shape = requireSizes(listMember(json, 'shape'), 'shape');
  const chunkShape = requireSizes(listMember(json, 'chunks'), 'shape of chunks');
  if (listMember(json, 'filters').length > 0) throw new TileSourceError('The Zarr array has filters, which are not supported.');
  const { compressor } = json;
  const separator = textMember(json, 'dimension_separator') ?? '.';
  return checkArray({
    shape,
    chunkShape,
    shard: null,
    type,
    fillValue: parseFillValue(json.fill_value),
    codecs: isObject(compressor) ? [parseByteCodec(textMember(compressor, 'id'))] : [],
    isBigEndian: dtype.startsWith('>'),
    order: textMember(json, 'order') === 'F' ? shape.map((_, axis) => shape.length - 1 - axis) : null,
    pathOf: (position) => position.join(separator),
  });
}

function readChunkEncoding(codecs: readonly unknown[], axisCount: number): ChunkEncoding {
  const chunkEncoding: { codecs: ByteCodec[]; isBigEndian: boolean; order: readonly number[] | null } = {
    codecs: [],
    isBigEndian: false,
    order: null,
  };
  for (const codec of codecs) {
    const name = textMember(codec, 'name');
    const configuration = objectMember(codec, 'configuration');
    if (name === 'bytes') chunkEncoding.isBigEndian = textMember(configuration, 'endian') === 'big';
    else if (name === 'transpose') {
      const order = listMember(configuration, 'order').map(Number);
      const isPermutation = order.length === axisCount && order.toSorted((a, b) => a - b).every((axis, i) => axis === i);
      if (!isPermutation || chunkEncoding.order !== null)
        throw new TileSourceError('The Zarr array has an impossible order of axes.');
      chunkEncoding.order = order;
    } else chunkEncoding.codecs.push(parseByteCodec(name));
  }
  return chunkEncoding;
}

/** Reads `zarr.json` of an array. @throws TileSourceError if it contradicts itself, or has unsupported features. */
export function readArrayV3(json: JsonObject): ArrayMetadata {
  const type = json.data_type as ZarrType;
  if (typeof type !== 'string' || !Object.hasOwn(zarrTypeBytes, type)) refuseType(json.data_type);
  const shape = requireSizes(listMember(json, 'shape'), 'shape');
  const grid = objectMember(json, 'chunk_grid');
  if (textMember(grid, 'name') !== 'regular') throw new TileSourceError('The Zarr array has chunks of different sizes.');
  const gridShape = requireSizes(listMember(objectMember(grid, 'configuration'), 'chunk_shape'), 'shape of chunks');
  const keyEncoding = objectMember(json, 'chunk_key_encoding');
  const isVersion2Key = textMember(keyEncoding, 'name') === 'v2';
  const separator = textMember(objectMember(keyEncoding, 'configuration'), 'separator') ?? (isVersion2Key ? '.' : '/');
  const codecs = listMember(json, 'codecs');
  const commonProperties = {
    shape,
    type,
    fillValue: parseFillValue(json.fill_value),
    pathOf: (position: readonly number[]) => (isVersion2Key ? position.join(separator) : ['c', ...position].join(separator)),
  };
  const sharding = codecs.find((codec) => textMember(codec, 'name') === 'sharding_indexed');
  if (sharding === undefined)
    return checkArray({ ...commonProperties, ...readChunkEncoding(codecs, shape.length), chunkShape: gridShape, shard: null });
  if (codecs.length > 1)
    throw new TileSourceError('The Zarr array has shards that are compressed as a whole, which is not supported.');
  const configuration = objectMember(sharding, 'configuration');
  const chunkShape = requireSizes(listMember(configuration, 'chunk_shape'), 'shape of chunks');
  if (chunkShape.length !== gridShape.length || chunkShape.some((size, axis) => gridShape[axis]! % size !== 0)) {
    throw new TileSourceError('The Zarr array has shards whose size is not a multiple of the chunk size.');
  }
  const indexCodecs = listMember(configuration, 'index_codecs').map((codec) => textMember(codec, 'name'));
  if (indexCodecs.some((name) => name !== 'bytes' && name !== 'crc32c')) {
    throw new TileSourceError('The Zarr array has compressed shard indexes, which is not supported.');
  }
  const shard = {
    shape: gridShape,
    isIndexAtEnd: textMember(configuration, 'index_location') !== 'start',
    hasChecksum: indexCodecs.includes('crc32c'),
  };
  return checkArray({
    ...commonProperties,
    ...readChunkEncoding(listMember(configuration, 'codecs'), shape.length),
    chunkShape,
    shard,
  });
}

function checkArray(array: ArrayMetadata): ArrayMetadata {
  const { shape, chunkShape, shard, type } = array;
  if (chunkShape.length !== shape.length)
    throw new TileSourceError('The Zarr array and its chunks have different numbers of axes.');
  const chunkBytes = chunkShape.reduce((product, size) => product * size, zarrTypeBytes[type]);
  if (chunkBytes > maxChunkBytes) {
    throw new TileSourceError(`The Zarr array has chunks of ${chunkBytes} bytes; at most ${maxChunkBytes} are supported.`);
  }
  const chunksPerShard = shard?.shape.reduce((product, size, axis) => product * (size / chunkShape[axis]!), 1) ?? 1;
  if (chunksPerShard > maxChunksOfShard)
    throw new TileSourceError(
      `The Zarr array has ${chunksPerShard} chunks in each shard; at most ${maxChunksOfShard} are supported.`,
    );
  return array;
}
