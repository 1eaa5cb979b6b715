import {
  boolean,
  integer,
  integerText,
  number,
  required,
  text,
  type Parameter,
  type ParameterValues,
} from '../../http/parameters.js';
import { BadParameterError } from '../../errors.js';

/** A parameter whose value is a whole number, or `true`, `on`, `yes`, `false`, `off` or `no`. */
function booleanOrInteger(description: string): Parameter<boolean | number | undefined> {
  return {
    schema: { type: 'string', description },
    required: false,
    absent: undefined,
    parse(value, name) {
      const word = value.trim().toLowerCase();
      if (['true', 'on', 'yes'].includes(word)) return true;
      if (['false', 'off', 'no'].includes(word)) return false;
      if (/^[-+]?\d+$/.test(word)) return Number(word);
      throw new BadParameterError(`"${name}" parameter is an incorrect type.`);
    },
  };
}

/** A parameter whose value is a list of whole numbers, separated by commas, with or without brackets around it. */
export function integerList(description: string): Parameter<number[] | undefined> {
  return {
    schema: { type: 'string', description },
    required: false,
    absent: undefined,
    parse(value, name) {
      const list = value.trim().replace(/^\[(.*)\]$/, '$1');
      if (list.trim() === '') return [];
      const numbers = list.split(',').map((entry) => (/^\s*[-+]?\d+\s*$/.test(entry) ? Number(entry) : NaN));
      if (!numbers.every(Number.isSafeInteger)) throw new BadParameterError(`"${name}" parameter is an incorrect type.`);
      return numbers;
    },
  };
}

/** Parameters of the encoding of a picture. */
export const encodingParameters = {
  encoding: text({ description: 'JPEG (default), PNG, WEBP, AVIF, GIF, TIFF; regions and thumbnails also TILED. Upper case.' }),
  jpegQuality: integer({ description: '0 to 100, default 95.' }),
  jpegSubsampling: integer({ description: '0 is 4:4:4 (default), 2 is 4:2:0; 1, which means 4:2:2, is written as 4:2:0.' }),
  tiffCompression: text({ description: 'none or raw (default), lzw, jpeg, deflate, packbits; TILED also webp.' }),
};

/** Parameters that choose the frame, the colours and the projection of a picture, and its encoding. */
export const renderParameters = {
  ...encodingParameters,
  frame: integer({ description: 'Plane of a multi-frame image, from 0 (the default).' }),
  style: text({ description: 'JSON object that says how bands become colours.' }),
  projection: text({ description: 'EPSG:3857: images with a place on the earth in tiles of the world map.' }),
};

/** Path parameters of the position of a tile. */
export const tilePath = {
  z: required(integerText({ description: 'Level; 0 is the smallest.', minimum: 0 })),
  x: required(integerText({ description: 'Column, from 0 at the left.', minimum: 0 })),
  y: required(integerText({ description: 'Row, from 0 at the top.', minimum: 0 })),
};

/** Parses level, column and row of the path. @throws BadParameterError */
export function tileAddress(params: { z: string; x: string; y: string }): { level: number; x: number; y: number } {
  const values = [params.z, params.x, params.y].map((part) => (/^[-+]?\d{1,15}$/.test(part) ? Number(part) : NaN));
  if (values.some(Number.isNaN)) throw new BadParameterError('x, y, and z must be integers');
  if (values.some((value) => value < 0)) throw new BadParameterError('x, y, and z must be positive integers');
  const [level, x, y] = values as [number, number, number];
  return { level, x, y };
}

/** Parameters of the header `Content-Disposition`. */
export const dispositionParameters = {
  contentDisposition: text({ description: 'inline or attachment.' }),
  contentDispositionFilename: text({ description: 'File name of the download; made from the name of the item by default.' }),
};

/** Parameters that choose a region of the image and the size of the result. */
export const regionParameters = {
  left: number({ description: 'Negative values count from the far edge.' }),
  top: number(),
  right: number({ description: 'Exclusive.' }),
  bottom: number({ description: 'Exclusive.' }),
  regionWidth: number(),
  regionHeight: number(),
  units: text({
    description: 'Units of the above: base_pixels (default), mag_pixels, mm, um, fraction …; projection, EPSG:4326 and others.',
  }),
  unitsWH: text({ description: 'Units of regionWidth and regionHeight, when they differ.' }),
  width: integer({ description: 'Largest width of the result in pixels.' }),
  height: integer({ description: 'Largest height of the result in pixels.' }),
  fill: text({ description: 'With width and height: a colour, or corner:colour, that pads the result to exactly this size.' }),
  magnification: number({ description: 'Scale of the result, when neither width nor height is given.' }),
  mm_x: number({ description: 'Millimetres per pixel of the result.' }),
  mm_y: number({ description: 'Millimetres per pixel of the result.' }),
  exact: boolean({ description: 'Answer only where the scale is exactly that of a level; else an empty result.' }),
  resample: booleanOrInteger('0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic.'),
};

/** Converts region parameters to a request of the renderer, whose names for millimetres per pixel differ. */
export function regionRequest({ mm_x, mm_y, ...values }: Partial<ParameterValues<typeof regionParameters>>) {
  return defined({ ...values, mmX: mm_x, mmY: mm_y });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members whose value is not undefined. */
export function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
