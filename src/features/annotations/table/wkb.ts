/** The geometry of an element. Each line lists x, y and z of its positions. A ring repeats its first position at the end. */
export interface ElementGeometry {
  type: 'Point' | 'LineString' | 'Polygon';
  lines: readonly ArrayLike<number>[];
}

const typeCodes = { Point: 1, LineString: 2, Polygon: 3 } as const;
/** Added to the code of a type if positions have z (ISO). */
const zCodeOffset = 1000;
const littleEndian = 1;
const numberBytes = 8;

function hasZ(lines: ElementGeometry['lines']): boolean {
  for (const line of lines) for (let i = 2; i < line.length; i += 3) if (line[i] !== 0) return true;
  return false;
}

/**
 * Writes a geometry as well-known binary, without z if z is 0 everywhere. The package that writes Parquet could do this, but would take as
 * long for it as for the rest of the file, because it visits every position twice and makes a buffer for each geometry.
 *
 * @param allocate allocates memory. By default, each geometry gets a separate buffer, which is slower than a part of a larger buffer.
 */
export function wkbOf(
  { type, lines }: ElementGeometry,
  allocate: (bytes: number) => Uint8Array = (bytes) => new Uint8Array(bytes),
): Uint8Array {
  const isFlat = !hasZ(lines);
  let numberCount = 0;
  for (const line of lines) numberCount += isFlat ? (line.length / 3) * 2 : line.length;
  // A polygon begins with the number of its rings, and each ring or line with the number of its positions.
  const lengthFieldCount = type === 'Point' ? 0 : lines.length + (type === 'Polygon' ? 1 : 0);
  const bytes = allocate(5 + 4 * lengthFieldCount + numberBytes * numberCount);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint8(0, littleEndian);
  view.setUint32(1, typeCodes[type] + (isFlat ? 0 : zCodeOffset), true);
  let offset = 5;
  if (type === 'Polygon') {
    view.setUint32(offset, lines.length, true);
    offset += 4;
  }
  for (const line of lines) {
    if (type !== 'Point') {
      view.setUint32(offset, line.length / 3, true);
      offset += 4;
    }
    for (let i = 0; i < line.length; i += 1) {
      if (isFlat && i % 3 === 2) continue;
      view.setFloat64(offset, line[i] as number, true);
      offset += numberBytes;
    }
  }
  return bytes;
}
