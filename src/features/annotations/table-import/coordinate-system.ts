import { BadParameterError } from '../../../errors.js';
import { quoted } from './incoming-table.js';

type Json = Record<string, unknown>;

/** Parses the columns of shapes that GeoParquet metadata declares. @throws BadParameterError for encodings other than WKB. */
export function parseGeoColumns(text: string | undefined): { shapes: Map<string, { crs: unknown }>; primary: string | null } {
  const shapes = new Map<string, { crs: unknown }>();
  if (text === undefined) return { shapes, primary: null };
  const { columns = {}, primary_column: primary } = parseMetadata(text);
  for (const [name, column] of Object.entries(columns as Json)) {
    const { encoding, crs, edges } = column as Json;
    if (encoding !== 'WKB')
      throw new BadParameterError(
        `The shapes in ${quoted(name)} are encoded as ${quoted(String(encoding))}; only WKB can be read.`,
      );
    if (edges === 'spherical')
      throw new BadParameterError(`The shapes in ${quoted(name)} have spherical edges. Send planar edges, in pixels.`);
    shapes.set(name, { crs });
  }
  return { shapes, primary: typeof primary === 'string' ? primary : null };
}

function parseMetadata(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new BadParameterError('The metadata `geo` of the table is not valid JSON.', { cause });
  }
}

/**
 * Accepts shapes without a coordinate system, and shapes in an engineering (local) coordinate system, such as pixels.
 *
 * @param crs the coordinate system. `undefined` if the file does not name one, which means degrees in GeoParquet.
 * @throws BadParameterError
 */
export function requirePixels(crs: unknown, column: string): void {
  if (crs === null) return;
  const { type, name } = (typeof crs === 'object' ? crs : {}) as Json;
  if (type === 'EngineeringCRS') return;
  const system =
    crs === undefined
      ? 'degrees of longitude and latitude, the default of GeoParquet'
      : quoted(typeof name === 'string' ? name : JSON.stringify(crs));
  throw new BadParameterError(
    `The shapes in ${quoted(column)} are in ${system}. Send pixels of the full resolution, with \`crs\` set to null.`,
  );
}
