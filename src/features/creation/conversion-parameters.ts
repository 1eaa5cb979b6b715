import {
  checkConversion,
  conversionCompressions,
  conversionFormats,
  conversionPredictors,
  reductions,
  type ConversionOptions,
} from '../../tilesource/convert/options.js';
import { BadParameterError } from '../../errors.js';
import { boolean, id, integer, oneOf, text, type ParameterValues } from '../../http/parameters.js';

const fileParameter = id({ description: 'The file; not needed when the item has exactly one.' });

/** The id of a file of the item. An empty id is refused, with a message that existing clients expect. */
const fileId: typeof fileParameter = {
  ...fileParameter,
  parse(value, name) {
    if (value === '') throw new BadParameterError('Missing "fileId" parameter.');
    return fileParameter.parse(value, name);
  },
};

/** Parameters of a conversion. */
export const conversionParameters = {
  fileId,
  localJob: boolean({ description: 'Whether the job runs in a server process instead of a worker.' }),
  tileSize: integer({
    description: 'Width and height of tiles in pixels, a multiple of 16. Default: the size of the copied tiles, otherwise 256.',
  }),
  compression: oneOf(conversionCompressions, {
    description: 'Default: jpeg for lossy TIFFs of 8 bits, otherwise lzw. jp2k is not supported.',
  }),
  quality: integer({ description: 'JPEG and WebP: 0 to 100, default 90. 0 is lossless WebP.' }),
  level: integer({ description: 'deflate: 1 to 9; zstd: 1 to 22.' }),
  predictor: oneOf(conversionPredictors, { description: 'deflate, lzw and zstd: none, or horizontal (also yes), the default.' }),
  psnr: integer({ description: 'For jp2k, which is not supported.' }),
  cr: integer({ description: 'For jp2k, which is not supported.' }),
  concurrent: integer({ description: 'Threads; 0 or negative: CPU count minus that many. Default: all.' }),
  reduction: oneOf(reductions, {
    description:
      'Method for reduced levels: mean, or nearest, which keeps the values of label images. Default: nearest if nothing is lossy.',
  }),
};

/** Further parameters of a conversion into a new item. */
export const copyParameters = {
  onlyFrame: integer({ description: 'The only frame to convert, from 0. Default: all.' }),
  format: oneOf(conversionFormats, { description: 'tiff (default); aperio is not supported.' }),
  folderId: id({ description: 'Folder of the new item. Default: the folder of this one.' }),
  name: text({ description: 'Name of the new item and its file. Default: the name of the file with the extension .tiff.' }),
};

type ConversionQuery = Partial<ParameterValues<typeof conversionParameters & typeof copyParameters>>;

/** Reads and checks the options among parameters. @throws BadValueError */
export function readConversionOptions(query: ConversionQuery): ConversionOptions {
  const { tileSize, compression, quality, level, predictor, psnr, cr, concurrent, reduction, onlyFrame, format } = query;
  return checkConversion({
    tileSize,
    compression,
    quality,
    level,
    predictor,
    psnr,
    cr,
    concurrent,
    reduction,
    onlyFrame,
    format,
  });
}

/** Parameters that say where a job runs and where its result goes, not how it converts. */
const targetParameters: readonly string[] = ['fileId', 'localJob', 'notify', 'folderId', 'name'];

/** The conversion options among the parameters of a route, as they were sent, to be shown with the job. */
export function selectSentOptions(sent: Readonly<Record<string, string>>, parameters: object): Record<string, string> {
  const isOption = (name: string): boolean => Object.hasOwn(parameters, name) && !targetParameters.includes(name);
  return Object.fromEntries(Object.entries(sent).filter(([name]) => isOption(name)));
}
