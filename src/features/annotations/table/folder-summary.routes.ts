import { BadParameterError } from '../../../errors.js';
import { boolean, integer, json, text, withDefault } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { routeDefiner } from '../../../http/route.js';
import { scopes } from '../../../http/scopes.js';
import { folderPath } from '../parameters.js';
import { privateHeaders } from '../views.js';
import { FolderSummaries } from './folder-summary.js';
import { folderSummarySchema } from './schemas.js';
import type { TableContext } from './table.routes.js';

const defineRoute = routeDefiner<TableContext>();

/** Maximum number of images in a response. */
const maxImages = 100;
const maxColumns = 50;

function columnNamesOf(requestedNames: readonly unknown[] | undefined): string[] {
  const names = requestedNames ?? ['area', 'length'];
  if (names.length > maxColumns) throw new BadParameterError(`columns must have at most ${maxColumns} names.`);
  return names.map((name) => {
    if (typeof name === 'string') return name;
    throw new BadParameterError('columns must be a list of column names.');
  });
}

/** The route that sums up the images of a folder. */
export const folderSummary = defineRoute({
  method: 'get',
  path: '/annotation/folder/:id/table/summary',
  summary: 'Get counts, means and standard deviations of columns for each image of a folder, by category.',
  description:
    'A page of the images with annotations that you can read, in the order of their ids. The annotations of an image are summarized together. If an annotation lacks a column, its elements have no values in it.',
  access: 'public',
  scope: scopes.read,
  params: folderPath,
  query: {
    recurse: withDefault(boolean({ description: 'Whether to include the folders below.' }), false),
    filter: json({ kind: 'object', description: 'Elements to include, as a condition. Default: all.' }),
    columns: json({
      kind: 'array',
      description: `Numeric columns, as a JSON list, up to ${maxColumns}. Default: area and length.`,
    }),
    by: text({ description: 'Column by whose values elements are summarized separately, such as `group`.' }),
    limit: integer({ minimum: 0, maximum: maxImages, description: 'Maximum number of images. Default: 20.' }),
    offset: integer({ minimum: 0, description: 'Number of images to skip. Default: 0.' }),
  },
  returns: { schema: folderSummarySchema },
  errors: ['bad-parameter', 'bad-value', 'invalid', 'unknown-id', 'access-denied', 'not-implemented', 'unavailable', 'busy'],
  authorize: ({ params, caller }, { items }) => items.loadFolder(params.id, 0, caller),
  async handle({ authorized: folder, query, caller, signal }, { annotations, items, blocks, tables }) {
    const { recurse, filter, by, limit = 20, offset = 0 } = query;
    const summaryQuery = { columns: columnNamesOf(query.columns), by, filter, caller, signal };
    const imageIds = await annotations.lists.listImagesInFolder({ folderId: folder.id, recurse, caller });
    const summaries = new FolderSummaries(annotations, blocks, tables);
    const images: object[] = [];
    for (const itemId of imageIds.slice(offset, offset + limit)) {
      const { name } = await items.load(itemId, 0, caller);
      images.push({ itemId, name, ...(await summaries.summarizeImage(itemId, summaryQuery)) });
    }
    return Reply.json({ total: imageIds.length, offset, by: by ?? null, images }, { headers: privateHeaders });
  },
});
