/** GeoKeys of a GeoTIFF, by name. */
export type GeoKeys = Readonly<Record<string, number | string>>;

/** Value of a key for a coordinate system that has no code, and that further keys define. */
export const userDefined = 32_767;

const polarStereographic = 15;

/**
 * EPSG codes of oblique Mercator projections whose origin is where the central line meets the equator. The library
 * geotiff-geokeys-to-proj4 leaves this property out of their definitions.
 */
const codesWithOriginAtEquator: ReadonlySet<number> = new Set([
  3078, 3079, 3167, 3168, 3375, 3376, 3468, 3591, 5247, 6394, 6497, 6808, 6809, 6810, 6811, 6840, 6841, 6842, 6843, 24571, 26731,
  26931, 29874,
]);

/** EPSG codes for which the library gives wrong units, a prime meridian applied twice, or an ellipsoid instead of a sphere. */
const codesMisreadByLibrary: ReadonlySet<number> = new Set([3293, 5472, 9311, 24_370, 24_371, 24_372, 24_373, 24_374, 24_382]);

/**
 * Returns the keys for the coordinate system of a file alone. Files with a projected system also name the geographic system on
 * which it is based. The library reports two systems as a contradiction, so the key of the other system is removed.
 */
export function keysOfOneSystem(keys: GeoKeys): GeoKeys {
  const { ProjectedCSTypeGeoKey: projected, GeographicTypeGeoKey: geographic, ...others } = keys;
  if (projected === undefined || geographic === undefined) return keys;
  const isProjected = keys.GTModelTypeGeoKey !== 2 && projected !== userDefined;
  return isProjected ? { ...others, ProjectedCSTypeGeoKey: projected } : { ...others, GeographicTypeGeoKey: geographic };
}

/** Values of GeogAngularUnitsGeoKey that mean degrees; `undefined` if the key is missing. */
const degreeUnits: readonly unknown[] = [undefined, 9102, 9122];

/** The EPSG code that defines the coordinate system completely; `null` if other keys change or replace its definition. */
export function epsgCodeOf({
  ProjectedCSTypeGeoKey: projected,
  GeographicTypeGeoKey: geographic,
  ...others
}: GeoKeys): number | null {
  const definesWholeSystem =
    projected !== undefined || (others.ProjCoordTransGeoKey === undefined && degreeUnits.includes(others.GeogAngularUnitsGeoKey));
  const code = projected ?? geographic;
  return definesWholeSystem && typeof code === 'number' && code !== userDefined ? code : null;
}

/** The library's result for keys. */
export interface KeyDefinition {
  proj4: string;
  /** Factors by which coordinates must be multiplied to fit the definition. */
  coordinatesConversionParameters: { x: number; y: number };
  isGCS: boolean;
  errors: object;
}

/** Corrects a definition from the library, so that proj4 computes correctly. `null` if that is not possible. */
export function correctDefinition(
  { proj4, coordinatesConversionParameters: { x: xFactor, y: yFactor }, isGCS, errors }: KeyDefinition,
  keys: GeoKeys,
): string | null {
  const code = Number(keys.ProjectedCSTypeGeoKey ?? 0);
  if (Object.keys(errors).length > 0 || codesMisreadByLibrary.has(code) || xFactor !== yFactor || (isGCS && xFactor !== 1))
    return null;
  const hasNumber = (name: string) => new RegExp(String.raw`\+${name}=[-\d]`).test(proj4);
  // Files and requests always give east before north, so the order of axes is removed. Axes that count to the west or south are
  // kept.
  let definition = proj4.replace(/\+axis=(\S+)/, (_, axis: string) =>
    /^(?:ws|sw)/.test(axis) ? `+axis=${axis.slice(0, 2)}u` : '',
  );
  const method = /\+proj=(\w+)/.exec(definition)?.[1] ?? '';
  if (['merc', 'eqc', 'cea'].includes(method) && !hasNumber('lat_ts')) {
    definition = definition.replace(/\+lat_ts=\S*/, '').replace('+lat_1=', '+lat_ts=');
  }
  if (method === 'stere' && hasNumber('lat_ts') && !hasNumber('lat_0'))
    definition += definition.includes('+lat_ts=-') ? ' +lat_0=-90' : ' +lat_0=90';
  if (keys.ProjCoordTransGeoKey === polarStereographic) {
    const [parallel, meridian] = [Number(keys.ProjNatOriginLatGeoKey ?? 90), Number(keys.ProjStraightVertPoleLongGeoKey ?? 0)];
    const isAtPole = Math.abs(parallel) === 90;
    definition = definition.replace(isAtPole ? /\+(?:lat_0|lon_0)=\S*/g : /\+(?:lat_0|lon_0|k_0)=\S*/g, '');
    definition += ` +lat_0=${parallel < 0 ? -90 : 90} +lon_0=${meridian}${isAtPole ? '' : ` +lat_ts=${parallel}`}`;
  }
  if (method === 'omerc' && codesWithOriginAtEquator.has(code)) definition += ' +no_uoff';
  if (xFactor !== 1 && !hasNumber('to_meter')) definition += ` +to_meter=${xFactor}`;
  return definition.includes('undefined') ? null : definition.replace(/\s+/g, ' ').trim();
}
