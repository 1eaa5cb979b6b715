/** Types of parameter values, by the names that the declarations below use as `kind`. */
interface ValueTypes {
  text: string;
  integer: number;
  number: number;
  boolean: boolean;
  /** JSON text, or the parsed object. */
  style: string | object;
  /** The value of `resample`: the number of a method, or whether to interpolate at all. */
  booleanOrInteger: number | boolean;
  integers: readonly number[];
}

/** The declaration of a parameter. */
export interface PictureParameter {
  readonly kind: keyof ValueTypes;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Requests with this value and requests without the parameter have the same meaning. */
  readonly default?: string | number | boolean;
  /**
   * Where the description of a cached file contains the parameter: the name of a group, and a name in this group. By default, the
   * parameter is a direct member of the description.
   */
  readonly entryPath?: readonly [group: string, name: string];
  /** Whether the key of a cached file writes the number as a float: 1 as `1.0`. */
  readonly isFloat?: true;
  /** Name of the parameter in requests to the renderer, if it differs from the name that clients use. */
  readonly requestName?: string;
}

/**
 * Every parameter of a picture or histogram, by the name that clients use. The parameters of routes, requests to the renderer,
 * entity tags, and the descriptions of cached files are derived from this table.
 */
export const pictureParameters = {
  encoding: {
    kind: 'text',
    default: 'JPEG',
    description:
      'JPEG (default), PNG, WEBP, AVIF, GIF, TIFF; regions and thumbnails also TILED; regions also OMETIFF, samples as stored. Upper case.',
  },
  jpegQuality: { kind: 'integer', default: 95, description: '0 to 100, default 95.' },
  jpegSubsampling: {
    kind: 'integer',
    default: 0,
    description: '0 is 4:4:4 (default), 2 is 4:2:0; 1, which means 4:2:2, is written as 4:2:0.',
  },
  tiffCompression: {
    kind: 'text',
    description:
      'none or raw (default), lzw, jpeg, deflate, packbits; TILED also webp and zstd; OMETIFF the lossless ones, default deflate.',
  },
  frame: { kind: 'integer', default: 0, description: 'Plane of a multi-frame image, from 0 (the default).' },
  style: { kind: 'style', default: '', description: 'JSON object that defines how bands are converted to colors.' },
  zProject: {
    kind: 'text',
    description: 'max, mean or min: combine the z planes of the frame, sample by sample, at most 256 of them.',
  },
  zFrom: { kind: 'integer', description: 'With zProject: the first z plane, from 0 (the default).' },
  zTo: { kind: 'integer', description: 'With zProject: the last z plane, inclusive; by default the last of the image.' },
  projection: { kind: 'text', description: 'EPSG:3857: tiles of the world map, for georeferenced images.' },
  left: {
    kind: 'number',
    isFloat: true,
    entryPath: ['region', 'left'],
    description: 'Negative values count from the far edge.',
  },
  top: { kind: 'number', isFloat: true, entryPath: ['region', 'top'] },
  right: { kind: 'number', isFloat: true, entryPath: ['region', 'right'], description: 'Exclusive.' },
  bottom: { kind: 'number', isFloat: true, entryPath: ['region', 'bottom'], description: 'Exclusive.' },
  regionWidth: { kind: 'number', isFloat: true, entryPath: ['region', 'width'] },
  regionHeight: { kind: 'number', isFloat: true, entryPath: ['region', 'height'] },
  units: {
    kind: 'text',
    entryPath: ['region', 'units'],
    description: 'Units of the above: base_pixels (default), mag_pixels, mm, um, fraction …; projection, EPSG:4326 and others.',
  },
  unitsWH: {
    kind: 'text',
    entryPath: ['region', 'unitsWH'],
    description: 'Units of regionWidth and regionHeight, if they differ.',
  },
  width: { kind: 'integer', entryPath: ['output', 'maxWidth'], description: 'Largest width of the result in pixels.' },
  height: { kind: 'integer', entryPath: ['output', 'maxHeight'], description: 'Largest height of the result in pixels.' },
  fill: {
    kind: 'text',
    description: 'With width and height: a color, or corner:color, that pads the result to exactly this size.',
  },
  magnification: {
    kind: 'number',
    isFloat: true,
    entryPath: ['scale', 'magnification'],
    description: 'Scale of the result, if neither width nor height is given.',
  },
  mm_x: {
    kind: 'number',
    isFloat: true,
    entryPath: ['scale', 'mm_x'],
    requestName: 'mmX',
    description: 'Millimeters per pixel of the result.',
  },
  mm_y: {
    kind: 'number',
    isFloat: true,
    entryPath: ['scale', 'mm_y'],
    requestName: 'mmY',
    description: 'Millimeters per pixel of the result.',
  },
  exact: {
    kind: 'boolean',
    entryPath: ['scale', 'exact'],
    description: 'Answer only if the scale is exactly the scale of a level; otherwise the result is empty.',
  },
  resample: { kind: 'booleanOrInteger', description: '0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic.' },
  composite: {
    kind: 'boolean',
    default: false,
    description:
      'Show an image of several channels as a mixture of them, in the colors from the file or those usual for their names, and a stack at its middle plane. ' +
      'Without effect on other images. A `style` replaces the mixture, and a `frame` the plane.',
  },
  framesAcross: { kind: 'integer', description: 'Columns; about as many as rows by default.' },
  frameList: {
    kind: 'integers',
    description: 'Frames to show; all by default. Numbers outside the image are ignored.',
  },
  bins: { kind: 'integer', default: 256, description: '256 by default.' },
  density: { kind: 'boolean', default: false, description: 'Fractions instead of counts.' },
  threshold: {
    kind: 'number',
    minimum: 0,
    maximum: 1,
    description: 'Also return `thresholds`: the two values that `min:` and `max:` with this fraction mean in a style.',
  },
} as const satisfies Readonly<Record<string, PictureParameter>>;

export type PictureParameterName = keyof typeof pictureParameters;

type DeclarationOf<Name extends PictureParameterName> = (typeof pictureParameters)[Name];

/** Type of the value of a parameter. */
export type PictureValue<Name extends PictureParameterName> = ValueTypes[DeclarationOf<Name>['kind']];

type RequestName<Name extends PictureParameterName> =
  DeclarationOf<Name> extends { requestName: infer Other extends string } ? Other : Name;

/** The members for these parameters in a request to the renderer. */
export type RequestOf<Name extends PictureParameterName> = { [N in Name as RequestName<N>]?: PictureValue<N> };

/** The declarations, for code that looks up any name. */
export const declaredParameters: ReadonlyMap<string, PictureParameter> = new Map(Object.entries(pictureParameters));

type NameWithDefault = {
  [N in PictureParameterName]: DeclarationOf<N> extends { default: unknown } ? N : never;
}[PictureParameterName];

/** The default of each parameter that has one. */
export const pictureDefaults = Object.fromEntries(
  Object.entries(pictureParameters).flatMap(([name, declared]) => ('default' in declared ? [[name, declared.default]] : [])),
) as { readonly [N in NameWithDefault]: PictureValue<N> };
