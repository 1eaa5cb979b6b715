import { createRequire } from 'node:module';
import { describeMissingPackages } from '../../optional-packages.js';
import { BadValueError, TileSourceError } from '../../errors.js';
import { epsgCodeOf, correctDefinition, keysOfOneSystem, type GeoKeys, type KeyDefinition } from './definitions.js';
import type { Point } from './georeference.js';

const require = createRequire(import.meta.url);

interface Proj4 {
  (from: string, to: string): { forward(point: [number, number], enforceAxis: boolean): number[] };
  defs(name: string): unknown;
}

interface GeoKeysToProj4 {
  toProj4(keys: GeoKeys): KeyDefinition;
}

const missingMessage = () => `Projections cannot be computed: ${describeMissingPackages('proj4', 'geotiff-geokeys-to-proj4')}.`;

/** Loads a package; `null` if it is not installed. */
function loadIfInstalled<T>(load: () => T): T | null {
  try {
    return load();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

interface Libraries {
  proj4: Proj4;
  geoKeys: GeoKeysToProj4;
}

let loadedLibraries: Libraries | null | undefined;

function loadLibraries(): Libraries | null {
  if (loadedLibraries === undefined) {
    const proj4 = loadIfInstalled(() => require('proj4') as Proj4);
    const geoKeys = loadIfInstalled(() => require('geotiff-geokeys-to-proj4') as GeoKeysToProj4);
    loadedLibraries = proj4 === null || geoKeys === null ? null : { proj4, geoKeys };
  }
  return loadedLibraries;
}

/** Loads the packages for projections. @throws TileSourceError that names the packages if they are not installed. */
export function requireProjections(): Libraries {
  const libraries = loadLibraries();
  if (libraries === null) throw new TileSourceError(missingMessage());
  return libraries;
}

/**
 * The definition for proj4 of the projection that GeoTIFF keys describe. `null` if the projection is unknown, or the packages are
 * not installed.
 */
export function projectionOfKeys(keys: GeoKeys): string | null {
  const libraries = loadLibraries();
  if (libraries === null) return null;
  const systemKeys = keysOfOneSystem(keys);
  const code = epsgCodeOf(systemKeys);
  if (code !== null && libraries.proj4.defs(`EPSG:${code}`) !== undefined) return `EPSG:${code}`;
  try {
    const text = correctDefinition(libraries.geoKeys.toProj4(systemKeys), systemKeys);
    // This throws if proj4 does not know the kind of projection.
    if (text !== null) libraries.proj4(text, 'EPSG:4326');
    return text;
  } catch {
    // For keys that do not follow the standard, the library throws errors of any kind.
    return null;
  }
}

/** Whether coordinates are degrees of longitude and latitude, so that longitudes repeat every 360 degrees. */
export function isGeographic(definition: string): boolean {
  return /^EPSG:(?:4326|4269)$|\+proj=(?:longlat|latlong)\b/.test(definition);
}

/** Maximum length of a projection's definition in a request, in characters. */
const maxDefinitionLength = 500;

/**
 * Parses the name of a projection: `wgs84`, `4326`, `EPSG:<n>`, `proj4:<definition>` or `+proj=…`. Returns the projection's
 * definition for proj4, or `null` for other words.
 *
 * @throws BadValueError if the projection is unknown or its definition too long, and TileSourceError if proj4 is not installed.
 */
export function parseProjectionName(name: string): string | null {
  const text = name.trim().replace(/^proj4:/i, '');
  if (/^(wgs84|4326)$/i.test(text)) return 'EPSG:4326';
  if (text.startsWith('+proj=')) {
    if (text.length <= maxDefinitionLength) return text;
    throw new BadValueError(`The projection has ${text.length} characters; at most ${maxDefinitionLength} are allowed`);
  }
  const code = /^epsg:(\d{1,6})$/i.exec(text)?.[1];
  if (code === undefined) return null;
  requireProjections();
  const epsgCode = Number(code);
  const projectedSystem = projectionOfKeys({ GTModelTypeGeoKey: 1, ProjectedCSTypeGeoKey: epsgCode });
  const projection = projectedSystem ?? projectionOfKeys({ GTModelTypeGeoKey: 2, GeographicTypeGeoKey: epsgCode });
  if (projection === null) throw new BadValueError(`Unknown projection '${name}'`);
  return projection;
}

/**
 * Converts a point from one projection to another. The result is not finite if the point does not exist in the other projection.
 */
export type Transformer = (point: Point) => Point;

/** @throws BadValueError for a definition that proj4 does not understand, and TileSourceError if proj4 is not installed. */
export function createTransformer(from: string, to: string): Transformer {
  if (from === to) return (point) => point;
  const libraries = requireProjections();
  let conversion: ReturnType<Proj4>;
  try {
    conversion = libraries.proj4(from, to);
  } catch (cause) {
    throw new BadValueError('The projection is not valid or not supported', { cause });
  }
  return ({ x, y }) => {
    try {
      const [toX = Number.NaN, toY = Number.NaN] = conversion.forward([x, y], true);
      return { x: toX, y: toY };
    } catch {
      return { x: Number.NaN, y: Number.NaN };
    }
  };
}
