import { id, json, oneOf, paging, required, text, type Parameter } from '../../index.js';

/** The id in the path of a document's routes. */
export const byId = { id: required(id({ description: 'Id of the document.' })) };

/** Parameters of lists that are ordered by name. */
export const byLowerName = paging('lowerName');
/** Parameters of lists whose documents have no lower-case name. */
export const byName = paging('name');

/** A search text of a list. */
export const searchText = text({ description: 'Only entries with these words.' });

/** Metadata of a new or changed document. */
export const metadata = json({ kind: 'object', description: 'Metadata, as a JSON object.' });

/** Whether copies of items get copies of the annotations: everything but `false` says yes. */
export const copyAnnotations: Parameter<boolean> = {
  schema: { type: 'boolean', default: true, description: 'Whether the annotations of the items are copied too.' },
  required: false,
  absent: true,
  parse: (value) => value.trim().toLowerCase() !== 'false',
};

/** What a folder lies in. */
export const folderParentType = oneOf(['folder', 'collection', 'user'], { description: 'Type of the parent.' });

/** Schemas of answers, as the description of the API shows them. */
export const returnsObject = { schema: { type: 'object' } } as const;
export const returnsList = { schema: { type: 'array', items: { type: 'object' } } } as const;
export const returnsMessage = { schema: { type: 'object', properties: { message: { type: 'string' } } } } as const;

/** Scopes of tokens that are limited to part of what their user may do. */
export const scopes = {
  read: 'core.data.read',
  write: 'core.data.write',
  own: 'core.data.own',
  userInfo: 'core.user_info.read',
  readAssetstore: 'core.assetstore.read',
  readPlugins: 'core.plugins.read',
  readUploads: 'core.partial_upload.read',
  cleanUploads: 'core.partial_upload.clean',
} as const;
