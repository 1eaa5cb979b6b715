/** Numbers of the TIFF tags that are read here, by their names in the TIFF 6.0 specification and its supplements. */
export const tags = {
  newSubfileType: 254,
  imageWidth: 256,
  imageLength: 257,
  bitsPerSample: 258,
  compression: 259,
  photometric: 262,
  fillOrder: 266,
  documentName: 269,
  imageDescription: 270,
  make: 271,
  model: 272,
  stripOffsets: 273,
  orientation: 274,
  samplesPerPixel: 277,
  rowsPerStrip: 278,
  stripByteCounts: 279,
  xResolution: 282,
  yResolution: 283,
  planarConfiguration: 284,
  pageName: 285,
  t4Options: 292,
  t6Options: 293,
  resolutionUnit: 296,
  software: 305,
  dateTime: 306,
  artist: 315,
  hostComputer: 316,
  predictor: 317,
  colorMap: 320,
  tileWidth: 322,
  tileLength: 323,
  tileOffsets: 324,
  tileByteCounts: 325,
  subIfds: 330,
  inkSet: 332,
  extraSamples: 338,
  sampleFormat: 339,
  jpegTables: 347,
  yCbCrCoefficients: 529,
  yCbCrSubSampling: 530,
  yCbCrPositioning: 531,
  referenceBlackWhite: 532,
  copyright: 33432,
  iccProfile: 34675,
} as const;

/** Bytes of one value of each TIFF field type. */
export const typeSizes: Readonly<Record<number, number>> = {
  1: 1,
  2: 1,
  3: 2,
  4: 4,
  5: 8,
  6: 1,
  7: 1,
  8: 2,
  9: 4,
  10: 8,
  11: 4,
  12: 8,
  13: 4,
  16: 8,
  17: 8,
  18: 8,
};

/** Field types by name. */
export const types = { byte: 1, ascii: 2, short: 3, long: 4, rational: 5, undefined: 7, ifd: 13, long8: 16, ifd8: 18 } as const;

/** Text tags that internal metadata shows, by the name under which it shows them. */
export const textTags: Readonly<Record<string, number>> = {
  documentname: tags.documentName,
  imagedescription: tags.imageDescription,
  make: tags.make,
  model: tags.model,
  pagename: tags.pageName,
  software: tags.software,
  datetime: tags.dateTime,
  artist: tags.artist,
  hostcomputer: tags.hostComputer,
  copyright: tags.copyright,
};

/** Compression schemes by their number in the Compression tag. */
export const compressions = {
  none: 1,
  ccittRle: 2,
  ccittFax3: 3,
  ccittFax4: 4,
  lzw: 5,
  oldJpeg: 6,
  jpeg: 7,
  deflate: 8,
  deflateOld: 32946,
  packbits: 32773,
  jpeg2000YCbCr: 33003,
  /** What libvips writes. */
  jpeg2000Lossy: 33004,
  jpeg2000Rgb: 33005,
  jpeg2000: 34712,
  zstd: 50000,
  webp: 50001,
} as const;

/** How samples are to be shown, by their number in the PhotometricInterpretation tag. */
export const photometrics = {
  whiteIsZero: 0,
  blackIsZero: 1,
  rgb: 2,
  palette: 3,
  mask: 4,
  separated: 5,
  yCbCr: 6,
  cieLab: 8,
} as const;
