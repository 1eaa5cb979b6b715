import { TileSourceError } from '../../../errors.js';
import { userDefined } from '../../geo/definitions.js';
import type { Affine, GeoReference } from '../../geo/georeference.js';
import { projectionOfKeys } from '../../geo/projections.js';
import type { Directory } from './file/directory.js';
import { tags } from './file/tags.js';

/** Names of the keys that define the projection, by their numbers in GeoTIFF 1.1. */
const keyNames: Readonly<Record<number, string>> = {
  1024: 'GTModelTypeGeoKey',
  1025: 'GTRasterTypeGeoKey',
  1026: 'GTCitationGeoKey',
  2048: 'GeographicTypeGeoKey',
  2049: 'GeogCitationGeoKey',
  2050: 'GeogGeodeticDatumGeoKey',
  2051: 'GeogPrimeMeridianGeoKey',
  2052: 'GeogLinearUnitsGeoKey',
  2053: 'GeogLinearUnitSizeGeoKey',
  2054: 'GeogAngularUnitsGeoKey',
  2055: 'GeogAngularUnitSizeGeoKey',
  2056: 'GeogEllipsoidGeoKey',
  2057: 'GeogSemiMajorAxisGeoKey',
  2058: 'GeogSemiMinorAxisGeoKey',
  2059: 'GeogInvFlatteningGeoKey',
  2061: 'GeogPrimeMeridianLongGeoKey',
  2062: 'GeogTOWGS84GeoKey',
  3072: 'ProjectedCSTypeGeoKey',
  3073: 'PCSCitationGeoKey',
  3074: 'ProjectionGeoKey',
  3075: 'ProjCoordTransGeoKey',
  3076: 'ProjLinearUnitsGeoKey',
  3077: 'ProjLinearUnitSizeGeoKey',
  3078: 'ProjStdParallel1GeoKey',
  3079: 'ProjStdParallel2GeoKey',
  3080: 'ProjNatOriginLongGeoKey',
  3081: 'ProjNatOriginLatGeoKey',
  3082: 'ProjFalseEastingGeoKey',
  3083: 'ProjFalseNorthingGeoKey',
  3084: 'ProjFalseOriginLongGeoKey',
  3085: 'ProjFalseOriginLatGeoKey',
  3086: 'ProjFalseOriginEastingGeoKey',
  3087: 'ProjFalseOriginNorthingGeoKey',
  3088: 'ProjCenterLongGeoKey',
  3089: 'ProjCenterLatGeoKey',
  3090: 'ProjCenterEastingGeoKey',
  3091: 'ProjCenterNorthingGeoKey',
  3092: 'ProjScaleAtNatOriginGeoKey',
  3093: 'ProjScaleAtCenterGeoKey',
  3094: 'ProjAzimuthAngleGeoKey',
  3095: 'ProjStraightVertPoleLongGeoKey',
};

/** Maximum number of values that are read for keys, and for parameters. */
const maxNumbers = 4096;

/** The georeference in GeoTIFF tags. */
export interface GeoTiff extends GeoReference {
  /** The values of the keys, by the names of the keys. */
  keys: Readonly<Record<string, number | string>>;
}

/** Reads the georeference of a directory; `null` if there is none, or it cannot be interpreted. */
export async function readGeoTiff(directory: Directory): Promise<GeoTiff | null> {
  try {
    const keys = await readKeys(directory);
    const transform = keys && (await readTransform(directory, keys.GTRasterTypeGeoKey === 2));
    if (!keys || !transform) return null;
    const code = [keys.ProjectedCSTypeGeoKey, keys.GeographicTypeGeoKey].find(
      (value): value is number => typeof value === 'number' && value > 0 && value < userDefined,
    );
    const isProjected = keys.GTModelTypeGeoKey === 1;
    const hasCode = code !== undefined && (!isProjected || code === keys.ProjectedCSTypeGeoKey);
    return {
      transform,
      projection: hasCode ? `epsg:${code}` : null,
      proj4: projectionOfKeys(keys),
      keys,
    };
  } catch (error) {
    // The image can be displayed without a georeference.
    if (error instanceof TileSourceError) return null;
    throw error;
  }
}

/** The nodata value, which GDAL writes in a separate tag, also in files without a georeference. */
export async function readNodata(directory: Directory): Promise<number | null> {
  try {
    const nodata = Number.parseFloat((await directory.text(tags.gdalNodata)) ?? '');
    return Number.isFinite(nodata) ? nodata : null;
  } catch (error) {
    if (error instanceof TileSourceError) return null;
    throw error;
  }
}

/** Code of the unit meter. */
const meterCode = 9001;

/** Size of a pixel on the ground in millimeters; `null` if the projection does not use meters. */
export function groundPixelSize({ keys, transform: [, t1, t2, , t4, t5] }: GeoTiff): { mmX: number; mmY: number } | null {
  if (keys.GTModelTypeGeoKey !== 1 || (keys.ProjLinearUnitsGeoKey ?? meterCode) !== meterCode) return null;
  return { mmX: Math.hypot(t1, t4) * 1000, mmY: Math.hypot(t2, t5) * 1000 };
}

async function readKeys(directory: Directory): Promise<Record<string, number | string> | null> {
  const entries = await directory.numbers(tags.geoKeyDirectory, maxNumbers);
  if (entries === null || entries.length < 4) return null;
  const doubles = (await directory.doubles(tags.geoDoubleParams, maxNumbers)) ?? [];
  const text = (await directory.text(tags.geoAsciiParams)) ?? '';
  const keys: Record<string, number | string> = {};
  for (let at = 4; at + 3 < entries.length; at += 4) {
    const [id, valueTag, count, value] = entries.subarray(at, at + 4) as unknown as [number, number, number, number];
    const name = keyNames[id];
    if (name === undefined) continue;
    if (valueTag === 0) keys[name] = value;
    else if (valueTag === tags.geoDoubleParams && Number.isFinite(doubles[value])) keys[name] = doubles[value]!;
    else if (valueTag === tags.geoAsciiParams) keys[name] = text.slice(value, value + count).replace(/\|.*$/s, '');
  }
  return keys;
}

/** @param isPoint whether coordinates refer to the centers of pixels instead of their corners. */
async function readTransform(directory: Directory, isPoint: boolean): Promise<Affine | null> {
  const matrix = await directory.doubles(tags.modelTransformation, 16);
  const scale = await directory.doubles(tags.modelPixelScale, 3);
  const tiePoint = await directory.doubles(tags.modelTiepoint, maxNumbers);
  let transform: number[] | null = null;
  if (matrix !== null && matrix.length === 16) {
    transform = [matrix[3]!, matrix[0]!, matrix[1]!, matrix[7]!, matrix[4]!, matrix[5]!];
  } else if (scale !== null && scale.length >= 2 && tiePoint !== null && tiePoint.length >= 6) {
    const [column, row, , x, y] = tiePoint as [number, number, number, number, number];
    const [pixelWidth, pixelHeight] = scale as [number, number];
    transform = [x - column * pixelWidth, pixelWidth, 0, y + row * pixelHeight, 0, -pixelHeight];
  }
  if (transform === null || !transform.every(Number.isFinite)) return null;
  const [t0, t1, t2, t3, t4, t5] = transform as unknown as Affine;
  if (t1 * t5 - t2 * t4 === 0) return null;
  return isPoint ? [t0 - (t1 + t2) / 2, t1, t2, t3 - (t4 + t5) / 2, t4, t5] : [t0, t1, t2, t3, t4, t5];
}
