import type { Model } from 'mongoose';
import { LargeImageError } from '../../errors.js';

/** Mongoose's names of the types that a field may have. A field that the host does not declare gets the first type. */
type FieldTypes = readonly ['Mixed' | 'String' | 'Boolean', ...string[]];

/** Field of an item without a large image. The value is a sentence that says why the item's file could not become a large image. */
export const refusedField = 'largeImageRefused';
/** Field of items and files that a conversion has stored and that are not in use yet. The value is the id of the job. */
export const conversionField = 'largeImageConversionId';
/** Field of an item that was made for the configuration of a folder and has no file yet. */
export const unfinishedField = 'largeImageUnfinished';
/**
 * Field of a file that replaces another file of its item. The value is the id of the other file until the other file is removed.
 */
export const replacesField = 'largeImageReplaces';
/** Field of an item whose image waits for files that belong to it. */
export const waitingField = 'largeImageWaiting';
/** Field of an item with the size of a pixel that a user has entered. */
export const scaleField = 'largeImageScale';
/** Field of an item that the host has hidden, such as one in its trash. */
export const hiddenField = 'largeImageHidden';

const itemExtension: Readonly<Record<string, FieldTypes>> = {
  largeImage: ['Mixed'],
  [refusedField]: ['String'],
  [conversionField]: ['String'],
  [unfinishedField]: ['Boolean'],
  [waitingField]: ['Mixed'],
  [scaleField]: ['Mixed'],
  [hiddenField]: ['Boolean'],
};
const fileExtension: Readonly<Record<string, FieldTypes>> = {
  attachedToType: ['String'],
  attachedToId: ['Mixed', 'ObjectId', 'String'],
  isLargeImageThumbnail: ['Boolean'],
  isLargeImageData: ['Boolean'],
  thumbnailKey: ['String'],
  largeImageState: ['String'],
  [conversionField]: ['String'],
  [replacesField]: ['String'],
};

type AnyModel = Model<Record<string, unknown>>;

/** @throws LargeImageError `conflict` if the host uses the name of a field of the plugin for something else. */
function requireCompatible({ schema, modelName }: AnyModel, extension: Readonly<Record<string, FieldTypes>>): void {
  for (const [path, types] of Object.entries(extension)) {
    if (schema.pathType(path) === 'adhocOrUndefined' || types.includes(schema.path(path)?.instance ?? '')) continue;
    const reason = `The model ${modelName} already has a field ${path}, which the plugin needs as ${types[0]}.`;
    throw new LargeImageError('conflict', `${reason} Nothing was changed. Give the field another name.`);
  }
}

/** The plugin's fields on the schemas of the host's items and files. */
export class SchemaExtension {
  readonly #added: { model: AnyModel; paths: string[] }[] = [];

  /** @throws LargeImageError `conflict` if the host uses the name of a field for something else; nothing is added then. */
  constructor(items: AnyModel, files: AnyModel) {
    requireCompatible(items, itemExtension);
    requireCompatible(files, fileExtension);
    this.#extend(items, itemExtension);
    this.#extend(files, fileExtension);
  }

  /** Adds paths that the host's schema lacks; paths that the host declares itself stay unchanged. */
  #extend(model: AnyModel, extension: Readonly<Record<string, FieldTypes>>): void {
    const { schema } = model;
    const paths = Object.keys(extension).filter((path) => schema.path(path) === undefined);
    const { Types } = model.db.base.Schema;
    schema.add(Object.fromEntries(paths.map((path) => [path, { type: Types[extension[path]![0]], default: undefined }])));
    model.recompileSchema();
    this.#added.push({ model, paths });
  }

  /** Removes the fields from the schemas. Stored values stay. */
  restore(): void {
    for (const { model, paths } of this.#added.splice(0)) {
      model.schema.remove(paths);
      model.recompileSchema();
    }
  }
}
