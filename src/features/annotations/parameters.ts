import { BadParameterError } from '../../errors.js';
import type { AnnotationPaging } from './documents/annotation-record.js';
import { id, required, text, withDefault, type Parameter } from '../../http/parameters.js';

/** Maximum size in bytes of a body that changes a part of an annotation. Whole annotations are streamed and have another limit. */
export const maxChangeBytes = 8 * 1024 * 1024;

/** The annotation in the path. */
export const annotationPath = { id: required(id({ description: 'The id of the annotation.' })) };

/** The item in the path. */
export const itemPath = { id: required(id({ description: 'The id of the item.' })) };

/** The folder in the path. */
export const folderPath = { id: required(id({ description: 'The id of the folder.' })) };

/** The item of a new annotation. {@link requireTargetItem} refuses requests without an item, with the message that existing clients expect. */
export const targetItem: Parameter<string | undefined> = id({ description: 'The item. Required.' });

/** The name of an annotation that is made from a table. */
export const tableName = text({ description: 'Name of the annotation, if the body is a table.' });

/** Returns the item's id. @throws BadParameterError if it is missing. */
export function requireTargetItem(itemId: string | undefined): string {
  if (itemId === undefined) throw new BadParameterError('No ID parameter passed: itemId');
  return itemId;
}

function pagingError(detail: string): BadParameterError {
  return new BadParameterError(detail);
}

const invalidNumberMessage = 'Invalid value for offset, limit, or sortdir parameter.';
const invalidDirectionMessage = 'Invalid value for sortdir parameter.';

function integerParameter(description: string, defaultValue: number): Parameter<number> {
  return {
    schema: { type: 'integer', minimum: 0, default: defaultValue, description },
    required: false,
    defaultValue,
    parse(value) {
      const parsed = /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) : NaN;
      if (!Number.isSafeInteger(parsed) || parsed < 0) throw pagingError(invalidNumberMessage);
      return parsed;
    },
  };
}

function directionParameter(defaultValue: 1 | -1): Parameter<1 | -1> {
  return {
    schema: { type: 'integer', enum: [1, -1], default: defaultValue, description: '1 ascending, -1 descending.' },
    required: false,
    defaultValue,
    parse(value) {
      if (!/^\s*[-+]?\d+\s*$/.test(value)) throw pagingError(invalidNumberMessage);
      const parsed = Number(value);
      if (parsed !== 1 && parsed !== -1) throw pagingError(invalidDirectionMessage);
      return parsed;
    },
  };
}

/** The parameters `limit`, `offset`, `sort` and `sortdir`, with the error messages that existing clients expect. */
export function annotationPaging(sort: string, defaultDirection: 1 | -1, limit = 50) {
  return {
    limit: integerParameter('Maximum number of entries; 0 for all.', limit),
    offset: integerParameter('Number of entries to skip.', 0),
    sort: withDefault<string>(text({ description: 'Field to sort by, or a JSON list of [field, direction].' }), sort),
    sortdir: directionParameter(defaultDirection),
  };
}

/** Maximum number of sort fields that are used. Further fields would hardly change the order. */
const maxSortFields = 8;

/** Converts the paging parameters of a request to the paging of a list. @throws BadParameterError */
export function parsePaging(query: { limit: number; offset: number; sort: string; sortdir: 1 | -1 }): AnnotationPaging {
  const { limit, offset, sort, sortdir } = query;
  const sortText = sort.trim();
  if (!sortText.startsWith('[')) return { limit, offset, sort: sortText === '' ? [] : [[sortText, sortdir]] };
  let parsedSort: unknown;
  try {
    parsedSort = JSON.parse(sortText);
  } catch (cause) {
    throw new BadParameterError('Parameter sort must be valid JSON.', { cause });
  }
  if (!Array.isArray(parsedSort)) throw new BadParameterError('Parameter sort must be a JSON array.');
  const order = (parsedSort as unknown[]).slice(0, maxSortFields).map((entry) => {
    const [field, direction] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof field !== 'string' || (direction !== 1 && direction !== -1)) {
      throw new BadParameterError('Parameter sort must be a JSON list of [field, direction], with directions 1 and -1.');
    }
    return [field, direction] as const;
  });
  return { limit, offset, sort: order };
}
