// @ts-check

/**
 * Documents of the API, as far as this page reads them.
 *
 * @typedef {object} Folder
 * @property {string} _id
 * @property {string} name
 * @property {string} [description]
 * @property {boolean} public
 * @property {number} _accessLevel 0 read, 1 write, 2 administer
 * @property {string} [updated]
 *
 * @typedef {object} Item
 * @property {string} _id
 * @property {string} name
 * @property {string} [description]
 * @property {string} folderId
 * @property {string} created
 * @property {string} [updated]
 * @property {number} size
 * @property {Record<string, unknown>} [meta]
 * @property {{ fileId?: string, expected?: boolean }} [largeImage]
 * @property {string} [largeImageRefused] why its file is no large image
 *
 * @typedef {{ type: string, object: { _id: string, name?: string, login?: string } }} PathStep
 */

/**
 * Whether an item can be opened in deep zoom: `yes`, `soon` while its pyramid is being made, or `no`.
 *
 * @param {Item} item
 * @returns {'yes' | 'soon' | 'no'}
 */
export function imageState({ largeImage }) {
  if (largeImage === undefined || largeImage === null) return 'no';
  if (largeImage.expected) return 'soon';
  return largeImage.fileId ? 'yes' : 'no';
}

/**
 * What changes when the item does, so that the browser does not show an older picture from its cache.
 *
 * @param {Item} item
 */
export function itemVersion(item) {
  return item.updated ?? item.created;
}
