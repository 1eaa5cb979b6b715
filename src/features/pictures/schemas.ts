import {
  anyNumber,
  anyObject,
  anyText,
  component,
  listOf,
  mapOf,
  objectOf,
  orNull,
  anyBoolean,
  anyInteger,
  type Schema,
} from '../../http/schemas.js';

const frame = component('Frame', {
  ...objectOf(
    { Frame: anyInteger, Index: anyInteger },
    {
      IndexC: anyInteger,
      IndexZ: anyInteger,
      IndexT: anyInteger,
      IndexXY: anyInteger,
      Channel: anyText,
      ChannelColor: { ...anyText, description: 'As #rrggbb.' },
      Position: { ...anyText, description: 'Name of the position along axis XY, such as a scene, if the file has one.' },
    },
  ),
  additionalProperties: true,
});

/** The metadata of a large image. */
export const largeImageSchema = component(
  'LargeImage',
  objectOf(
    {
      levels: { ...anyInteger, description: 'Level 0 is the smallest, levels - 1 is full resolution.' },
      sizeX: { ...anyInteger, description: 'Width in pixels.' },
      sizeY: { ...anyInteger, description: 'Height in pixels.' },
      tileWidth: anyInteger,
      tileHeight: anyInteger,
      magnification: orNull(anyNumber),
      mm_x: { type: ['number', 'null'], description: 'Width of a pixel in millimeters.' },
      mm_y: { type: ['number', 'null'], description: 'Height of a pixel in millimeters.' },
      dtype: { ...anyText, description: 'Type of the samples: uint8, uint16, float32, …' },
      bandCount: anyInteger,
    },
    {
      frames: listOf(frame),
      IndexRange: mapOf(anyInteger),
      IndexStride: mapOf(anyInteger),
      channels: listOf(anyText),
      channelmap: mapOf(anyInteger),
      magnificationComputed: { ...anyBoolean, description: 'Whether the magnification was computed from the pixel size.' },
      mm_z: { ...anyNumber, description: 'Distance between z planes in millimeters.' },
      seconds_t: { ...anyNumber, description: 'Time between frames in seconds.' },
      pixelSizeEntered: {
        ...anyBoolean,
        description: 'Whether a user has entered mm_x and mm_y, because the file does not state them.',
      },
      geospatial: anyBoolean,
      sourceLevels: anyInteger,
      sourceSizeX: anyInteger,
      sourceSizeY: anyInteger,
      projection: orNull(anyText),
      bounds: anyObject,
      sourceBounds: anyObject,
      bands: mapOf(anyObject),
    },
  ),
);

const band = component(
  'HistogramBand',
  objectOf(
    {
      min: orNull(anyNumber),
      max: orNull(anyNumber),
      mean: orNull(anyNumber),
      stdev: orNull(anyNumber),
      range: listOf(anyNumber),
      bins: anyInteger,
      hist: listOf(anyNumber),
      bin_edges: listOf(anyNumber),
      samples: anyInteger,
      density: anyBoolean,
    },
    { thresholds: listOf(anyNumber) },
  ),
);

/** The histograms of the bands. With `cache`, it says instead for which frames the histogram is stored. */
export const histogramSchema: Schema = {
  oneOf: [
    listOf(band),
    objectOf({ cached: listOf(anyBoolean) }, { scheduledJob: { ...anyText, description: 'Id of the job.' } }),
  ],
};

/** The bands by their number, which counts from 1. */
export const bandsSchema = mapOf(
  objectOf({
    interpretation: anyText,
    min: orNull(anyNumber),
    max: orNull(anyNumber),
    mean: orNull(anyNumber),
    stdev: orNull(anyNumber),
  }),
);

/** The samples of a pixel and its color as displayed. A pixel outside the image has no members. */
const pixel = component(
  'Pixel',
  objectOf(
    {},
    {
      value: { type: 'array', items: orNull(anyNumber), description: 'The sample of each band.' },
      l: anyInteger,
      r: anyInteger,
      g: anyInteger,
      b: anyInteger,
      a: anyInteger,
      frame: anyInteger,
    },
  ),
);

/** A pixel, or, with `frameList`, one for each frame. */
export const pixelSchema: Schema = { oneOf: [pixel, listOf(pixel)] };

const corner = objectOf({ x: anyNumber, y: anyNumber, z: anyNumber });

/** The quad information. It describes textures with several frames each, and how a client cuts the frames out of the textures. */
export const quadInfoSchema = component(
  'QuadInfo',
  objectOf(
    { metadata: largeImageSchema, options: anyObject, src: listOf(anyObject) },
    {
      quads: listOf(objectOf({ ul: corner, lr: corner, crop: mapOf(anyNumber) })),
      quadsToIdx: listOf(anyInteger),
      frames: listOf(anyInteger),
      framesToIdx: mapOf(anyInteger),
      minLevel: anyNumber,
      cached: { type: 'array', items: anyBoolean, description: 'Which textures are stored, on request.' },
      scheduledJob: anyText,
    },
  ),
);

/** The metadata of an associated image. It has no members if there is no image of that name. */
export const associatedImageSchema = objectOf({}, { sizeX: anyInteger, sizeY: anyInteger, mode: anyText, format: anyText });
