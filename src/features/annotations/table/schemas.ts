import {
  anyInteger,
  anyNumber,
  anyText,
  anything,
  component,
  listOf,
  mapOf,
  objectOf,
  orNull,
  anyBoolean,
} from '../../../http/schemas.js';

const cell = { type: ['string', 'number', 'boolean', 'null'] } as const;

const columnType = { type: 'string', enum: ['id', 'number', 'boolean', 'text'] } as const;

/** Schema of the description of a table. */
export const tableSchema = component(
  'AnnotationTable',
  objectOf({
    _version: anyInteger,
    rows: { ...anyInteger, description: 'Number of elements.' },
    isCut: {
      ...anyBoolean,
      description: 'Whether the table has no columns for some values of the elements, because there are too many.',
    },
    columns: listOf(
      objectOf(
        { name: anyText, type: columnType, count: anyInteger, nulls: anyInteger },
        {
          min: anyNumber,
          max: anyNumber,
          mean: anyNumber,
          quantiles: { ...mapOf(anyNumber), description: 'Quantiles by fraction: `{"0.5": median}`.' },
          distinct: { ...anyInteger, description: 'Number of distinct values.' },
          categories: {
            ...listOf(objectOf({ value: cell, count: anyInteger })),
            description: 'The 100 most frequent values.',
          },
        },
      ),
    ),
  }),
);

/** Schema of a page of rows. */
export const rowsSchema = component(
  'AnnotationTableRows',
  objectOf({
    _version: anyInteger,
    total: { ...anyInteger, description: 'Number of elements that match the filter.' },
    offset: anyInteger,
    columns: listOf(anyText),
    rows: listOf(listOf(cell)),
  }),
);

const axis = objectOf({ column: anyText, low: anyNumber, high: anyNumber, bins: anyInteger });

/** Schema of counts in bins. */
export const histogramSchema = component(
  'AnnotationTableHistogram',
  objectOf({
    _version: anyInteger,
    x: axis,
    y: orNull(axis),
    by: orNull(anyText),
    categories: listOf(
      objectOf({
        value: cell,
        counts: {
          ...listOf(anyInteger),
          description: 'One count for each bin; with `y`, all bins of y for the first bin of x come first.',
        },
        nulls: anyInteger,
        outside: anyInteger,
      }),
    ),
  }),
);

const columnSummary = objectOf({
  count: anyInteger,
  mean: orNull(anyNumber),
  deviation: { ...orNull(anyNumber), description: 'Standard deviation of a sample.' },
  min: orNull(anyNumber),
  max: orNull(anyNumber),
});

/** Schema of summaries of columns, for each image of a folder. */
export const folderSummarySchema = component(
  'FolderTableSummary',
  objectOf({
    total: { ...anyInteger, description: 'Number of images with annotations that you can read.' },
    offset: anyInteger,
    by: orNull(anyText),
    images: listOf(
      objectOf({
        itemId: anyText,
        name: anyText,
        annotations: { ...anyInteger, description: 'Number of annotations that were summarized.' },
        isCut: { ...anyBoolean, description: 'Whether the image has more annotations.' },
        count: { ...anyInteger, description: 'Number of elements that match the filter.' },
        categories: listOf(objectOf({ value: cell, count: anyInteger, columns: mapOf(columnSummary) })),
      }),
    ),
  }),
);

/** Schema of summaries of columns, by category. */
export const summarySchema = component(
  'AnnotationTableSummary',
  objectOf({
    _version: anyInteger,
    by: orNull(anyText),
    categories: listOf(objectOf({ value: cell, count: anyInteger, columns: mapOf(columnSummary) })),
  }),
);

/** Schema of ids of elements. */
export const idsSchema = component(
  'AnnotationTableIds',
  objectOf({ _version: anyInteger, count: anyInteger, ids: listOf(anyText) }),
);

/** Schema of a filter, for the description of the API. `parseFilter` checks filters. */
export const filterSchema = component('AnnotationTableFilter', {
  type: 'object',
  description: 'One condition; see docs/tables.md.',
  properties: {
    column: anyText,
    gte: anyNumber,
    lte: anyNumber,
    in: listOf(anything),
    null: anyBoolean,
    region: listOf(anything),
    and: listOf({ type: 'object' }),
    or: listOf({ type: 'object' }),
    not: { type: 'object' },
  },
});
