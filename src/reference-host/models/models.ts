import type { Connection, Model, Schema } from 'mongoose';
import { repeatCollisions } from '../../index.js';
import { apiKeySchema, type ApiKeyDocument } from './api-key.js';
import { blobSchema, type BlobDocument } from './blob.js';
import { collectionSchema, type CollectionDocument } from './collection.js';
import { fileSchema, type FileDocument } from './file.js';
import { folderSchema, type FolderDocument } from './folder.js';
import { groupSchema, type GroupDocument } from './group.js';
import { hostStateSchema, type HostStateDocument } from './host-state.js';
import { itemSchema, type ItemDocument } from './item.js';
import { nameClaimSchema, type NameClaimDocument } from './name-claim.js';
import { notificationSchema, type NotificationDocument } from './notification.js';
import { tokenSchema, type TokenDocument } from './token.js';
import { uploadSchema, type UploadDocument } from './upload.js';
import { userSchema, type UserDocument } from './user.js';

interface DocumentTypes {
  apiKey: ApiKeyDocument;
  blob: BlobDocument;
  collection: CollectionDocument;
  file: FileDocument;
  folder: FolderDocument;
  group: GroupDocument;
  hostState: HostStateDocument;
  item: ItemDocument;
  nameClaim: NameClaimDocument;
  notification: NotificationDocument;
  token: TokenDocument;
  upload: UploadDocument;
  user: UserDocument;
}

/** The host's models by name. Read each at the time of use: the plugin recompiles some of them. */
export type Models = { readonly [K in keyof DocumentTypes]: Model<DocumentTypes[K]> };

const schemas: { [K in keyof DocumentTypes]: Schema<DocumentTypes[K]> } = {
  apiKey: apiKeySchema,
  blob: blobSchema,
  collection: collectionSchema,
  file: fileSchema,
  folder: folderSchema,
  group: groupSchema,
  hostState: hostStateSchema,
  item: itemSchema,
  nameClaim: nameClaimSchema,
  notification: notificationSchema,
  token: tokenSchema,
  upload: uploadSchema,
  user: userSchema,
};

const collectionNames: Partial<Record<keyof DocumentTypes, string>> = {
  apiKey: 'api_key',
  hostState: 'host_state',
  nameClaim: 'name_claim',
};

/** Compiles the models on a connection and waits until their indexes exist. Schemas are cloned: two hosts share nothing. */
export async function compileModels(connection: Connection): Promise<Models> {
  const names = Object.keys(schemas) as (keyof DocumentTypes)[];
  for (const name of names) {
    const { collection } = connection.model(name, (schemas[name] as Schema).clone(), collectionNames[name] ?? name);
    repeatCollisions(collection);
  }
  await Promise.all(names.map((name) => connection.model(name).init()));
  const models = {} as Record<keyof DocumentTypes, unknown>;
  for (const name of names) Object.defineProperty(models, name, { enumerable: true, get: () => connection.model(name) });
  // The getters give what the schemas above describe.
  return models as Models;
}
