import type { Connection, Model, Schema } from 'mongoose';
import { limitReads, repeatCollisions } from '../larger-host.js';
import { apiKeySchema, type ApiKeyDocument } from './accounts/api-keys/api-key.model.js';
import { attemptSchema, type AttemptDocument } from './accounts/sign-in/attempt.model.js';
import { blobSchema, type BlobDocument } from './files/blob.model.js';
import { claimSchema, type ClaimDocument } from './upkeep/claim.model.js';
import { collectionSchema, type CollectionDocument } from './tree/collection.model.js';
import { fileSchema, type FileDocument } from './files/file.model.js';
import { folderSchema, type FolderDocument } from './tree/folder.model.js';
import { groupSchema, type GroupDocument } from './groups/group.model.js';
import { hostProcessSchema, type HostProcessDocument } from './upkeep/host-process.model.js';
import { hostStateSchema, type HostStateDocument } from './system/host-state.model.js';
import { itemSchema, type ItemDocument } from './tree/item.model.js';
import { nameClaimSchema, type NameClaimDocument } from './tree/names/name-claim.model.js';
import { notificationSchema, type NotificationDocument } from './notifications/notification.model.js';
import { hideTrashed, trashField } from './trash/trash-mark.js';
import { tokenSchema, type TokenDocument } from './accounts/tokens/token.model.js';
import { undertakingSchema, type UndertakingDocument } from './upkeep/undertaking.model.js';
import { uploadSchema, type UploadDocument } from './uploads/upload.model.js';
import { userSchema, type UserDocument } from './accounts/users/user.model.js';

interface DocumentTypes {
  apiKey: ApiKeyDocument;
  attempt: AttemptDocument;
  blob: BlobDocument;
  claim: ClaimDocument;
  collection: CollectionDocument;
  file: FileDocument;
  folder: FolderDocument;
  group: GroupDocument;
  hostProcess: HostProcessDocument;
  hostState: HostStateDocument;
  item: ItemDocument;
  nameClaim: NameClaimDocument;
  notification: NotificationDocument;
  token: TokenDocument;
  undertaking: UndertakingDocument;
  upload: UploadDocument;
  user: UserDocument;
}

/** The host's models by name. Read a model each time it is used, because the plugin recompiles some of them. */
export type Models = { readonly [K in keyof DocumentTypes]: Model<DocumentTypes[K]> };

const schemas: { [K in keyof DocumentTypes]: Schema<DocumentTypes[K]> } = {
  apiKey: apiKeySchema,
  attempt: attemptSchema,
  blob: blobSchema,
  claim: claimSchema,
  collection: collectionSchema,
  file: fileSchema,
  folder: folderSchema,
  group: groupSchema,
  hostProcess: hostProcessSchema,
  hostState: hostStateSchema,
  item: itemSchema,
  nameClaim: nameClaimSchema,
  notification: notificationSchema,
  token: tokenSchema,
  undertaking: undertakingSchema,
  upload: uploadSchema,
  user: userSchema,
};

const collectionNames: Partial<Record<keyof DocumentTypes, string>> = {
  apiKey: 'api_key',
  claim: 'host_claim',
  hostProcess: 'host_process',
  hostState: 'host_state',
  nameClaim: 'name_claim',
  undertaking: 'host_undertaking',
};

/** Creates all indexes of a model with one command. Mongoose would send a command for each index. */
async function createIndexes({ schema, collection }: Pick<Model<unknown>, 'schema' | 'collection'>): Promise<void> {
  const indexes = schema.indexes().map(([key, options]) => ({ key, ...options }));
  if (indexes.length > 0) await collection.createIndexes(indexes as Parameters<typeof collection.createIndexes>[0]);
}

/**
 * Compiles the models on a connection and waits until their indexes exist. Schemas are cloned, because two hosts share nothing.
 */
export async function compileModels(connection: Connection): Promise<Models> {
  const names = Object.keys(schemas) as (keyof DocumentTypes)[];
  for (const name of names) {
    const schema = (schemas[name] as Schema).clone().set('autoIndex', false).set('autoCreate', false);
    limitReads(schema);
    if (schema.path(Object.keys(trashField)[0]!) !== undefined) hideTrashed(schema);
    repeatCollisions(connection.model(name, schema, collectionNames[name] ?? name).collection);
  }
  await Promise.all(names.map((name) => createIndexes(connection.model(name))));
  const models = {} as Record<keyof DocumentTypes, unknown>;
  for (const name of names) Object.defineProperty(models, name, { enumerable: true, get: () => connection.model(name) });
  // The getters return models of the schemas above.
  return models as Models;
}
