import { anyText, component, id, json, objectOf, oneOf, paging, required, text, type Parameter } from '../../larger-host.js';

/** The id in the path of a document's routes. */
export const byId = { id: required(id({ description: 'Id of the document.' })) };

/** Parameters of lists that are ordered by name. */
export const byLowerName = paging('lowerName');
/** Parameters of lists whose documents have no lower-case name. */
export const byName = paging('name');

/** Words by which a list is filtered. */
export const searchText = text({ description: 'Only entries with these words.' });

/** Metadata of a new or changed document. */
export const metadata = json({ kind: 'object', description: 'Metadata, as a JSON object.' });

/** Whether annotations are copied with their items. Every text but `false` means yes, as existing clients expect. */
export const copyAnnotations: Parameter<boolean> = {
  schema: { type: 'boolean', default: true, description: 'Whether to copy the annotations of the items as well.' },
  required: false,
  defaultValue: true,
  parse: (value) => value.trim().toLowerCase() !== 'false',
};

/** The type of a folder's parent. */
export const folderParentType = oneOf(['folder', 'collection', 'user'], { description: 'Type of the parent.' });

/** A response that consists of a sentence. */
export const returnsMessage = { schema: component('Message', objectOf({ message: anyText })) };

/** Scopes of tokens that are limited to some of their user's rights. */
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
