/** Keys of a GeoTIFF, or those that name a projection by its code. */
export type GeoKeys = Readonly<Record<string, number | string>>;

/** What keys say in place of a code that somebody made up. */
const userDefined = 32_767;

const polarStereographic = 15;

/** Codes of EPSG whose oblique Mercator counts from where its central line meets the equator, which the library does not say of it. */
const countedFromEquator: ReadonlySet<number> = new Set([
  3078, 3079, 3167, 3168, 3375, 3376, 3468, 3591, 5247, 6394, 6497, 6808, 6809, 6810, 6811, 6840, 6841, 6842, 6843, 24571, 26731,
  26931, 29874,
]);

/** Codes of EPSG that the library understands wrongly: other units, meridians counted twice, an ellipsoid for a sphere. */
const misunderstood: ReadonlySet<number> = new Set([3293, 5472, 9311, 24_370, 24_371, 24_372, 24_373, 24_374, 24_382]);

/** The keys of one system: files also name the geographic system that a projected one rests on, which the library takes for a contradiction. */
export function keysOfOneSystem(keys: GeoKeys): GeoKeys {
  const { ProjectedCSTypeGeoKey: projected, GeographicTypeGeoKey: geographic, ...others } = keys;
  if (projected === undefined || geographic === undefined) return keys;
  const isProjected = keys.GTModelTypeGeoKey !== 2 && projected !== userDefined;
  return isProjected ? { ...others, ProjectedCSTypeGeoKey: projected } : { ...others, GeographicTypeGeoKey: geographic };
}

/** Degrees, by two of their codes. */
const degrees: readonly unknown[] = [undefined, 9102, 9122];

/** The code that says all of the system of keys; `null` where other keys say more. */
export function codeOf({
  ProjectedCSTypeGeoKey: projected,
  GeographicTypeGeoKey: geographic,
  ...others
}: GeoKeys): number | null {
  const isWhole =
    projected !== undefined || (others.ProjCoordTransGeoKey === undefined && degrees.includes(others.GeogAngularUnitsGeoKey));
  const code = projected ?? geographic;
  return isWhole && typeof code === 'number' && code !== userDefined ? code : null;
}

/** What the library makes of keys. */
export interface KeyDefinition {
  proj4: string;
  /** What coordinates are multiplied by before the definition holds for them. */
  coordinatesConversionParameters: { x: number; y: number };
  isGCS: boolean;
  errors: object;
}

/** The definition that proj4 computes with rightly; `null` where what the library says is not enough for it. */
export function completed(
  { proj4, coordinatesConversionParameters: { x, y }, isGCS, errors }: KeyDefinition,
  keys: GeoKeys,
): string | null {
  const code = Number(keys.ProjectedCSTypeGeoKey ?? 0);
  if (Object.keys(errors).length > 0 || misunderstood.has(code) || x !== y || (isGCS && x !== 1)) return null;
  const has = (name: string) => new RegExp(String.raw`\+${name}=[-\d]`).test(proj4);
  // Coordinates are east and north in files and requests, whatever the order that their definition prefers; what counts to the west and south stays.
  let text = proj4.replace(/\+axis=(\S+)/, (_, axis: string) => (/^(?:ws|sw)/.test(axis) ? `+axis=${axis.slice(0, 2)}u` : ''));
  const kind = /\+proj=(\w+)/.exec(text)?.[1] ?? '';
  if (['merc', 'eqc', 'cea'].includes(kind) && !has('lat_ts')) {
    text = text.replace(/\+lat_ts=\S*/, '').replace('+lat_1=', '+lat_ts=');
  }
  if (kind === 'stere' && has('lat_ts') && !has('lat_0')) text += text.includes('+lat_ts=-') ? ' +lat_0=-90' : ' +lat_0=90';
  if (keys.ProjCoordTransGeoKey === polarStereographic) {
    const [parallel, meridian] = [Number(keys.ProjNatOriginLatGeoKey ?? 90), Number(keys.ProjStraightVertPoleLongGeoKey ?? 0)];
    const isAtPole = Math.abs(parallel) === 90;
    text = text.replace(isAtPole ? /\+(?:lat_0|lon_0)=\S*/g : /\+(?:lat_0|lon_0|k_0)=\S*/g, '');
    text += ` +lat_0=${parallel < 0 ? -90 : 90} +lon_0=${meridian}${isAtPole ? '' : ` +lat_ts=${parallel}`}`;
  }
  if (kind === 'omerc' && countedFromEquator.has(code)) text += ' +no_uoff';
  if (x !== 1 && !has('to_meter')) text += ` +to_meter=${x}`;
  return text.includes('undefined') ? null : text.replace(/\s+/g, ' ').trim();
}
