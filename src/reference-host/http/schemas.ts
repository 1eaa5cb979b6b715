import {
  anyObject,
  anyText,
  component,
  dateText,
  idText,
  itemSchema,
  listOf,
  objectOf,
  orNull,
  shownAccess,
  anyBoolean,
  anyInteger,
} from '../../larger-host.js';

const dateFields = { created: dateText, updated: dateText };
const rootFields = { baseParentType: { type: 'string', enum: ['collection', 'user'] }, baseParentId: idText } as const;

/** A file. */
export const fileSchema = component(
  'File',
  objectOf(
    {
      _id: idText,
      name: anyText,
      itemId: orNull(idText),
      exts: listOf(anyText),
      created: dateText,
      _modelType: { const: 'file' },
    },
    {
      mimeType: orNull(anyText),
      size: anyInteger,
      creatorId: orNull(idText),
      updated: dateText,
      linkUrl: { ...anyText, description: 'Address of its bytes, if it is a link.' },
      assetstoreId: { ...idText, description: 'Site administrators only.' },
    },
  ),
);

/** A folder. */
export const folderSchema = component(
  'Folder',
  objectOf(
    {
      _id: idText,
      name: anyText,
      description: orNull(anyText),
      parentId: idText,
      parentCollection: { type: 'string', enum: ['folder', 'collection', 'user'] },
      ...rootFields,
      ...dateFields,
      size: anyInteger,
      meta: anyObject,
      public: anyBoolean,
      _accessLevel: shownAccess,
      _modelType: { const: 'folder' },
    },
    { creatorId: orNull(idText), publicFlags: listOf(anyText) },
  ),
);

/** A collection. */
export const collectionSchema = component(
  'Collection',
  objectOf(
    {
      _id: idText,
      name: anyText,
      description: orNull(anyText),
      ...dateFields,
      size: anyInteger,
      meta: anyObject,
      public: anyBoolean,
      _accessLevel: shownAccess,
      _modelType: { const: 'collection' },
    },
    { publicFlags: listOf(anyText) },
  ),
);

/** A group. */
export const groupSchema = component(
  'Group',
  objectOf({
    _id: idText,
    name: anyText,
    description: anyText,
    public: anyBoolean,
    ...dateFields,
    _accessLevel: shownAccess,
    _modelType: { const: 'group' },
  }),
);

/** A user. Users see more of their own record, and site administrators of all records. */
export const userSchema = component(
  'User',
  objectOf(
    {
      _id: idText,
      login: anyText,
      firstName: anyText,
      lastName: anyText,
      admin: anyBoolean,
      public: anyBoolean,
      created: dateText,
      _accessLevel: shownAccess,
      _modelType: { const: 'user' },
    },
    {
      email: anyText,
      groups: listOf(idText),
      groupInvites: listOf(objectOf({ groupId: idText, level: anyInteger })),
      status: { type: 'string', enum: ['enabled', 'pending', 'disabled'] },
      emailVerified: anyBoolean,
      size: anyInteger,
      otp: anyBoolean,
    },
  ),
);

/** An unfinished upload. */
export const uploadSchema = component('Upload', {
  ...objectOf(
    {
      _id: idText,
      name: anyText,
      size: anyInteger,
      received: { ...anyInteger, description: 'Number of bytes that are safely stored.' },
      mimeType: anyText,
      parentType: { type: 'string', enum: ['folder', 'item'] },
      parentId: idText,
      userId: orNull(idText),
      assetstoreId: idText,
      ...dateFields,
    },
    { reference: anyText, fileId: idText, attachParent: anyBoolean },
  ),
  additionalProperties: true,
});

/** The upload while it is unfinished, then the file. */
export const uploadResult = { anyOf: [fileSchema, uploadSchema] };

/** An API key. */
export const apiKeySchema = component(
  'ApiKey',
  objectOf(
    {
      _id: idText,
      name: anyText,
      active: anyBoolean,
      scope: orNull(listOf(anyText)),
      tokenDuration: { type: ['number', 'null'], description: 'Days; null for the same as after a sign-in.' },
      userId: idText,
      created: dateText,
      lastUse: orNull(dateText),
      _accessLevel: shownAccess,
      _modelType: { const: 'api_key' },
    },
    {
      prefix: { ...anyText, description: 'Beginning of the key.' },
      key: { ...anyText, description: 'Only in the response to its creation.' },
    },
  ),
);

/** A token that was issued. */
export const tokenSchema = component('Token', objectOf({ token: anyText, expires: dateText }, { scope: listOf(anyText) }));

/** A message to a user. */
export const notificationSchema = component(
  'Notification',
  objectOf(
    {
      _id: idText,
      type: anyText,
      data: anyObject,
      time: dateText,
      updated: dateText,
      startTime: { type: 'number' },
      updatedTime: { type: 'number' },
    },
    { expires: dateText, userId: idText, tokenId: idText },
  ),
);

/** A document of any type in the tree. */
export const resourceSchema = component('Resource', { anyOf: [itemSchema, folderSchema, collectionSchema, userSchema] });

/** The documents that contain a document, outermost first. */
export const rootPathSchema = listOf(
  objectOf({ type: { type: 'string', enum: ['collection', 'user', 'folder'] }, object: resourceSchema }),
);
