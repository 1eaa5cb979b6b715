import { formatCount } from './format.js';

/** Figures: pictures of a part of the image for slides, papers and reports. */
export const figureTexts = {
  annotations: 'Annotations',
  asPicture: (name: string, limit: number) =>
    `“${name}” is in the figure as a picture, not as vectors: it has more than ${formatCount(limit)} shapes here, or only the server can draw them.`,
  boxOf: (width: number, height: number) => `${formatCount(width)} × ${formatCount(height)} px of the image`,
  changeBox: 'Draw a box',
  drawHint: 'Drag a box on the image. Escape cancels.',
  dpi: 'Pixels per inch',
  failed: 'The browser could not make a figure of this size. Choose a smaller width.',
  format: 'Format',
  formats: { png: 'PNG', tiff: 'TIFF', svg: 'SVG (annotations as vectors)', pdf: 'PDF (annotations as vectors)' },
  fullSize: (width: number, height: number) =>
    `This part of the image at full resolution (${formatCount(width)} × ${formatCount(height)} pixels), without annotations:`,
  legend: 'Legend of channels and groups',
  makeFigure: 'Save figure',
  moreEntries: (count: number) => `and ${formatCount(count)} more`,
  noScaleBar: 'There is no scale bar, because the pixel size is not known. You can enter it in the “Image” panel.',
  outside: 'No part of the image is in this box.',
  result: (width: number, height: number, across: string, down: string) =>
    `Image: ${formatCount(width)} × ${formatCount(height)} pixels, printed ${across} × ${down} cm`,
  samples: 'Full resolution, without annotations',
  scaleBar: 'Scale bar',
  tiff: 'TIFF',
  title: 'Title',
  titleHint: 'Above the image; may be empty.',
  tooLarge: (width: number, height: number, side: number, pixels: number) =>
    `The figure would have ${formatCount(width)} × ${formatCount(height)} pixels. The limit is ${formatCount(side)} per side and ${formatCount(pixels)} in total.`,
  unit: 'Unit',
  units: { px: 'pixels', cm: 'cm', in: 'inches' },
  useView: 'Use the current view',
  width: 'Width',
  widthRange: (least: number, most: number) => `Enter a width of ${formatCount(least)} to ${formatCount(most)} pixels.`,
  dpiRange: (least: number, most: number) => `Enter ${formatCount(least)} to ${formatCount(most)} pixels per inch.`,
};

/** The page that is printed for an image. */
export const printTexts = {
  address: 'Address',
  magnification: 'Magnification',
  pixelSize: 'Pixel size',
  printed: 'Printed',
  scale: 'Scale bar',
  size: 'Size',
  view: 'Region shown',
  viewOf: ({ x, y, width, height }: { x: number; y: number; width: number; height: number }) =>
    `${formatCount(width)} × ${formatCount(height)} px from ${formatCount(x - width / 2)}, ${formatCount(y - height / 2)}`,
};
