import type { ElementType } from '../../../src/annotation-format/schema/document.js';

type Json = Record<string, unknown>;
const square = [
  [0, 0, 0],
  [10, 0, 0],
  [10, 10, 0],
  [0, 10, 0],
];

/** A valid element of each type that uses every property of the type; brand `service`. */
export const fullElements: Readonly<Record<ElementType, Json>> = {
  arrow: { type: 'arrow', points: square.slice(0, 2), lineColor: '#abc', lineWidth: 1, fillColor: '#abcd' },
  circle: {
    type: 'circle',
    center: [1, 2, 3],
    radius: 4,
    lineColor: '#abc',
    lineWidth: 0,
    fillColor: '#aabbcc',
    pattern: 'circle',
  },
  ellipse: {
    type: 'ellipse',
    center: [1, 2, 3],
    width: 4,
    height: 2,
    rotation: 0.5,
    normal: [0, 0, 1],
    lineColor: '#abc',
    lineWidth: 1,
    fillColor: '#aabbccdd',
    pattern: 'star(16)',
  },
  griddata: {
    type: 'griddata',
    gridWidth: 2,
    values: [1, 2, 3, 4],
    interpretation: 'contour',
    origin: [0, 0, 0],
    dx: 3,
    dy: 4,
    radius: 2,
    scaleWithZoom: true,
    colorRange: ['#000', '#fff'],
    rangeValues: [0, 1, 2],
    normalizeRange: false,
    stepped: true,
    minColor: '#000',
    maxColor: '#fff',
  },
  heatmap: {
    type: 'heatmap',
    points: [[1, 2, 3, 4]],
    radius: 2,
    colorRange: ['#000', '#fff'],
    rangeValues: [0, 1],
    normalizeRange: true,
    scaleWithZoom: false,
  },
  point: { type: 'point', center: [1, 2, 3], lineColor: '#abc', lineWidth: 1, fillColor: '#abc' },
  polyline: {
    type: 'polyline',
    points: square,
    closed: true,
    holes: [square],
    lineColor: 'rgb(1, 2, 3)',
    lineWidth: 1,
    fillColor: 'rgba(1, 2, 3, 0.5)',
    pattern: 'diamond',
  },
  rectangle: {
    type: 'rectangle',
    center: [1, 2, 3],
    width: 4,
    height: 2,
    rotation: 0.5,
    normal: [0, 0, 1],
    lineColor: '#abc',
    lineWidth: 1,
    fillColor: '#abc',
    pattern: 'triangle',
  },
  rectanglegrid: {
    type: 'rectanglegrid',
    center: [1, 2, 3],
    width: 4,
    height: 2,
    widthSubdivisions: 2,
    heightSubdivisions: 3,
    rotation: 0.5,
    normal: [0, 0, 1],
    lineColor: '#abc',
    lineWidth: 1,
    fillColor: '#abc',
    pattern: 'jack(1)',
  },
  image: {
    type: 'image',
    serviceId: '0123456789abcdef01234567',
    opacity: 0.5,
    hasAlpha: true,
    transform: {
      xoffset: 1,
      yoffset: 2,
      matrix: [
        [1, 0],
        [0, 1],
      ],
    },
  },
  pixelmap: {
    type: 'pixelmap',
    serviceId: '0123456789abcdef01234567',
    values: [0, 1],
    categories: [{ fillColor: '#abc', strokeColor: '#abc', label: 'l', description: 'd' }],
    boundaries: false,
    opacity: 1,
    hasAlpha: false,
    transform: {},
  },
};

/** The required members of each type, except `type`. */
export const requiredMembers: Readonly<Record<ElementType, readonly string[]>> = {
  arrow: ['points'],
  circle: ['center', 'radius'],
  ellipse: ['center', 'width', 'height'],
  griddata: ['gridWidth', 'values'],
  heatmap: ['points'],
  point: ['center'],
  polyline: ['points'],
  rectangle: ['center', 'width', 'height'],
  rectanglegrid: ['center', 'width', 'height', 'widthSubdivisions', 'heightSubdivisions'],
  image: ['serviceId'],
  pixelmap: ['serviceId', 'values', 'categories', 'boundaries'],
};

/** Values that are invalid for some kinds of members. */
const notNumber = [null, '1', true, [], {}, NaN, Infinity];
const badCoordinates = [null, 'a', 5, {}, [], [1, 2], [1, 2, 3, 4], [1, 2, '3'], [1, 2, null], [1, 2, true], [1, 2, Infinity]];
const badColors = [
  null,
  5,
  '',
  'red',
  '#ab',
  '#abcde',
  '#abcdefa',
  '#ggg',
  '#abc\n',
  'rgb( 1,2,3)',
  'rgb(1 ,2,3)',
  'RGB(1,2,3)',
  'rgb(1,2)',
  'rgb(-1,2,3)',
  'rgb(1.5,2,3)',
  'rgba(1,2,3)',
  'rgba(1,2,3,2)',
  'rgba(1,2,3,1.5)',
  'rgba(1,2,3,-0.1)',
  'rgba(1,2,3,0.)',
  'rgba(1,2,3,50%)',
  'hsl(1,2,3)',
];
const badFlags = [null, 'true', 1, 0, [], {}];
const badPatterns = [
  null,
  3,
  '',
  'square',
  'star',
  'star(0)',
  'star(17)',
  'star(1.5)',
  'star(01)',
  'circle(3)',
  'flower()',
  'Star(3)',
];
const badIds = [
  null,
  5,
  '',
  'abc',
  '0123456789ABCDEF01234567',
  '0123456789abcdef0123456',
  '0123456789abcdef012345678',
  '0123456789abcdef0123456g',
];
const badLengths = [...notNumber, -1, -0.001];

/** Invalid values by member, for all types that have the member. */
export const badValues: Readonly<Record<string, readonly unknown[]>> = {
  center: badCoordinates,
  origin: badCoordinates,
  normal: badCoordinates,
  radius: [...notNumber, -1],
  width: badLengths,
  height: badLengths,
  lineWidth: badLengths,
  rotation: notNumber,
  dx: notNumber,
  dy: notNumber,
  widthSubdivisions: [...notNumber, 0, -1, 1.5],
  heightSubdivisions: [...notNumber, 0, 2.5],
  gridWidth: [...notNumber, 0, 1.5],
  lineColor: badColors,
  fillColor: badColors,
  minColor: badColors,
  maxColor: badColors,
  pattern: badPatterns,
  closed: badFlags,
  scaleWithZoom: badFlags,
  normalizeRange: badFlags,
  stepped: badFlags,
  hasAlpha: badFlags,
  boundaries: badFlags,
  opacity: [...notNumber, -0.1, 1.1],
  interpretation: [null, 5, '', 'Contour', 'grid'],
  colorRange: [null, '#000', [5], ['red'], {}],
  serviceId: badIds,
  transform: [
    null,
    5,
    [],
    { xoffset: '1' },
    { yoffset: null },
    { matrix: 5 },
    { matrix: [[1, 0]] },
    {
      matrix: [
        [1, 0],
        [0, 1],
        [0, 0],
      ],
    },
    {
      matrix: [
        [1, 0, 0],
        [0, 1, 0],
      ],
    },
    {
      matrix: [
        ['1', 0],
        [0, 1],
      ],
    },
    { zoffset: 1 },
  ],
  categories: [
    null,
    {},
    [5],
    [{}],
    [{ strokeColor: '#abc' }],
    [{ fillColor: 'red' }],
    [{ fillColor: '#abc', label: 5 }],
    [{ fillColor: '#abc', description: null }],
    [{ fillColor: '#abc', extra: 1 }],
  ],
  holes: [
    null,
    {},
    [5],
    [[]],
    [
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    [
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    ],
    [
      [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, '9'],
      ],
    ],
  ],
};

/** Invalid values that depend on the type. */
export const badByType: Readonly<Partial<Record<ElementType, Readonly<Record<string, readonly unknown[]>>>>> = {
  arrow: {
    points: [
      null,
      [],
      [[1, 2, 3]],
      [
        [1, 2, 3],
        [1, 2, 3],
        [1, 2, 3],
      ],
      [
        [1, 2, 3],
        [1, 2],
      ],
    ],
  },
  polyline: {
    points: [
      null,
      {},
      [],
      [[1, 2, 3]],
      [
        [1, 2, 3],
        [1, 2],
      ],
      [
        [1, 2, 3],
        [1, 2, 3, 4],
      ],
      [[1, 2, 3], null],
    ],
  },
  heatmap: {
    points: [null, {}, [[1, 2, 3]], [[1, 2, 3, 4, 5]], [[1, 2, 3, '4']]],
    radius: [0],
    rangeValues: [null, [0], [0, 1, 2], ['0', 1], [0, Infinity]],
  },
  griddata: {
    values: [null, {}, [1], [1, 2, 3], [1, '2'], [1, NaN], [1, null]],
    radius: [0],
    rangeValues: [
      [0, 1],
      [0, 1, 2, 3],
      [0, 2, 1],
      [2, 0, 1],
    ],
  },
  pixelmap: { values: [null, {}, ['1'], [0.5], [null], [Infinity]] },
};
