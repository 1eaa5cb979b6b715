import { boolean, integer, integerText, number, required, text, type Parameter } from '../../http/parameters.js';
import { BadParameterError } from '../../errors.js';
import {
  declaredParameters,
  pictureParameters,
  type PictureParameter,
  type PictureParameterName,
  type RequestOf,
} from '../../tilesource/picture-parameters.js';

/** A parameter whose value is a whole number, or `true`, `on`, `yes`, `false`, `off` or `no`. */
function booleanOrInteger(description: string): Parameter<boolean | number | undefined> {
  return {
    schema: { type: 'string', description },
    required: false,
    defaultValue: undefined,
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
    defaultValue: undefined,
    parse(value, name) {
      const list = value.trim().replace(/^\[(.*)\]$/, '$1');
      if (list.trim() === '') return [];
      const numbers = list.split(',').map((entry) => (/^\s*[-+]?\d+\s*$/.test(entry) ? Number(entry) : NaN));
      if (!numbers.every(Number.isSafeInteger)) throw new BadParameterError(`"${name}" parameter is an incorrect type.`);
      return numbers;
    },
  };
}

/** Makers of route parameters, by the kind of the picture parameter. */
const parameterMakers = {
  text,
  style: text,
  integer,
  number,
  boolean,
  booleanOrInteger: ({ description = '' }) => booleanOrInteger(description),
  integers: ({ description = '' }) => integerList(description),
} as const satisfies Record<PictureParameter['kind'], (options: { description?: string }) => Parameter<unknown>>;

type RouteParameter<Name extends PictureParameterName> = ReturnType<
  (typeof parameterMakers)[(typeof pictureParameters)[Name]['kind']]
>;

/** The parameters with these names, as routes declare them. */
export function routeParameters<Name extends PictureParameterName>(...names: Name[]): { [N in Name]: RouteParameter<N> } {
  const entries = names.map((name) => {
    const { kind, description, minimum, maximum }: PictureParameter = pictureParameters[name];
    const options = { ...(description && { description }), ...(minimum !== undefined && { minimum, maximum }) };
    return [name, parameterMakers[kind](options)];
  });
  // Each name has the parameter of its kind.
  return Object.fromEntries(entries) as { [N in Name]: RouteParameter<N> };
}

/** Parameters that choose the encoding of a picture. */
export const encodingParameters = routeParameters('encoding', 'jpegQuality', 'jpegSubsampling', 'tiffCompression');

/** Parameters that combine the z planes of a frame. */
export const zParameters = routeParameters('zProject', 'zFrom', 'zTo');

/** Parameters for the frame, its z planes, the colors, the projection and the encoding of a picture. */
export const renderParameters = { ...encodingParameters, ...routeParameters('frame', 'style', 'projection'), ...zParameters };

/** Path parameters that give the position of a tile. */
export const tilePath = {
  z: required(integerText({ description: 'Level; 0 is the smallest.', minimum: 0 })),
  x: required(integerText({ description: 'Column, from 0 at the left.', minimum: 0 })),
  y: required(integerText({ description: 'Row, from 0 at the top.', minimum: 0 })),
};

/** Parses level, column and row of the path. @throws BadParameterError */
export function parseTileAddress(params: { z: string; x: string; y: string }): { level: number; x: number; y: number } {
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

/** Parameters for a region of the image and the size of the result. */
export const regionParameters = {
  ...routeParameters('left', 'top', 'right', 'bottom', 'regionWidth', 'regionHeight', 'units', 'unitsWH', 'width', 'height'),
  ...routeParameters('fill', 'magnification', 'mm_x', 'mm_y', 'exact', 'resample'),
};

/**
 * Makes the request for the renderer from the parameters of a route. Parameters that do not concern the picture, such as those of the
 * download, are left out.
 */
export function toPictureRequest<Values extends object>(values: Values): RequestOf<keyof Values & PictureParameterName> {
  const request: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const declared = declaredParameters.get(name);
    if (declared !== undefined && value !== undefined) request[declared.requestName ?? name] = value;
  }
  // The values were parsed by the parameters with these names.
  return request as RequestOf<keyof Values & PictureParameterName>;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members whose value is not undefined. */
export function dropUndefined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
