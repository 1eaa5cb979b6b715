import { TileSourceError } from '../../../errors.js';
import { isObject, listMember, objectMember, textMember, type JsonObject } from './json.js';

/** Maximum number of levels of an image. Further levels are ignored. */
const maxDatasets = 64;

/** Millimeters in each unit of length. */
const mmByUnit: Readonly<Record<string, number>> = {
  angstrom: 1e-7,
  nanometer: 1e-6,
  micrometer: 1e-3,
  millimeter: 1,
  centimeter: 10,
  meter: 1000,
  inch: 25.4,
};

/** One axis of the arrays. */
interface Axis {
  name: string;
  unit: string | null;
}

/** A channel as `omero` describes it. */
interface OmeChannel {
  name: string | null;
  color: string | null;
}

/** The metadata of an image. */
export interface OmeImage {
  name: string | null;
  axes: Axis[];
  /**
   * The arrays, the finest first. `path` is relative to the group. `scale` is the distance between samples on each axis, in the
   * axis's unit.
   */
  datasets: { path: string; scale: readonly number[] | null }[];
  channels: OmeChannel[];
  /** The member `multiscales` as stored in the file. */
  multiscales: unknown;
  /** The member `omero` as stored in the file. */
  omero: unknown;
}

function scaleOf(value: unknown, axisCount: number): readonly number[] | null {
  const transformation = listMember(value, 'coordinateTransformations').find((each) => textMember(each, 'type') === 'scale');
  const scale = listMember(transformation, 'scale').map(Number);
  return scale.length === axisCount && scale.every((step) => Number.isFinite(step) && step > 0) ? scale : null;
}

function readAxes(multiscale: JsonObject): Axis[] {
  const axes = listMember(multiscale, 'axes').map((axis): Axis => {
    if (typeof axis === 'string') return { name: axis.toLowerCase(), unit: null };
    return { name: (textMember(axis, 'name') ?? '').toLowerCase(), unit: textMember(axis, 'unit') };
  });
  // Versions before 0.3 do not list the axes. They always have these five axes.
  return axes.length > 0 ? axes : ['t', 'c', 'z', 'y', 'x'].map((name) => ({ name, unit: null }));
}

/**
 * Reads the description of the image of a group; `null` if the group has none. @throws TileSourceError if the description
 * contradicts itself.
 */
export function readOme(attributes: JsonObject): OmeImage | null {
  const omeAttributes = isObject(attributes.ome) ? attributes.ome : attributes;
  const [multiscale] = listMember(omeAttributes, 'multiscales');
  if (!isObject(multiscale)) return null;
  const axes = readAxes(multiscale);
  const axisNames = axes.map(({ name }) => name);
  if (!axisNames.includes('x') || !axisNames.includes('y') || new Set(axisNames).size < axisNames.length) {
    throw new TileSourceError(`The OME-Zarr has the axes ${axisNames.join(', ')}; x and y must be among them, each once.`);
  }
  const commonScale = scaleOf(multiscale, axes.length);
  const datasets = listMember(multiscale, 'datasets')
    .slice(0, maxDatasets)
    .flatMap((dataset) => {
      const parts = textMember(dataset, 'path')?.split('/') ?? [];
      const path = parts.filter((part) => part !== '').join('/');
      if (path === '' || parts.includes('..')) return [];
      const datasetScale = scaleOf(dataset, axes.length);
      return [{ path, scale: datasetScale?.map((step, axis) => step * (commonScale?.[axis] ?? 1)) ?? commonScale }];
    });
  if (datasets.length === 0) throw new TileSourceError('The OME-Zarr names no arrays.');
  const channels = listMember(objectMember(omeAttributes, 'omero'), 'channels').map((channel): OmeChannel => {
    const digits = /^#?([\da-f]{6})$/i.exec(textMember(channel, 'color') ?? '')?.[1];
    const name = textMember(channel, 'label');
    return { name: name === '' ? null : name, color: digits === undefined ? null : `#${digits.toLowerCase()}` };
  });
  return {
    name: textMember(multiscale, 'name'),
    axes,
    datasets,
    channels,
    multiscales: omeAttributes.multiscales,
    omero: omeAttributes.omero,
  };
}

/** Millimeters per pixel along an axis; `null` if the file does not declare it. */
export function millimetersAlong({ axes, datasets }: OmeImage, name: string): number | null {
  return stepAlong({ axes, datasets }, name, mmByUnit);
}

const secondsByUnit: Readonly<Record<string, number>> = {
  nanosecond: 1e-9,
  microsecond: 1e-6,
  millisecond: 1e-3,
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
};

/** Seconds from one position on an axis to the next; `null` if the file does not declare it. */
export function secondsAlong(image: OmeImage, name: string): number | null {
  return stepAlong(image, name, secondsByUnit);
}

function stepAlong(
  { axes, datasets }: Pick<OmeImage, 'axes' | 'datasets'>,
  name: string,
  factorByUnit: Readonly<Record<string, number>>,
): number | null {
  const axis = axes.findIndex((each) => each.name === name);
  const factor = factorByUnit[axes[axis]?.unit?.replace(/metre$/, 'meter') ?? ''];
  const step = datasets[0]?.scale?.[axis];
  return factor === undefined || step === undefined || !(step > 0) ? null : factor * step;
}
