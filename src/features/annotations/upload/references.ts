import { itemField } from '../../../annotation-format/schema/common.js';
import { BadParameterError } from '../../../errors.js';

/** Maximum length of an identifier or uuid in UTF-16 units. */
export const maxNameLength = 1000;
/** Maximum number of identifiers in one file. */
const maxIdentifiers = 10_000;
/** Takes the place of the id of an unknown item, so that the rest of the file can be checked. */
const placeholderId = '0'.repeat(24);
const itemIdPattern = /^[0-9a-f]{24}$/;

/** The part of an upload's reference that this feature uses. */
export interface UploadReference {
  identifier: string;
  itemId: string | null;
  uuid: string | null;
}

/** Parses the reference of an upload. Returns `null` if the reference has no valid identifier. */
export function parseReference(reference: string | undefined): UploadReference | null {
  if (reference === undefined || !reference.trimStart().startsWith('{')) return null;
  let parsedReference: unknown;
  try {
    parsedReference = JSON.parse(reference);
  } catch {
    return null;
  }
  const { identifier, itemId, uuid } = parsedReference as Record<string, unknown>;
  if (typeof identifier !== 'string' || identifier === '' || identifier.length > maxNameLength) return null;
  const isValidUuid = typeof uuid === 'string' && uuid !== '' && uuid.length <= maxNameLength;
  return { identifier, itemId: typeof itemId === 'string' ? itemId : null, uuid: isValidUuid ? uuid : null };
}

type JsonObject = Record<string, unknown>;

/** Finds the id of the item for a name in an element. Returns `null` if there is none. */
export type ResolveItem = (name: string) => Promise<string | null>;

/**
 * Replaces identifiers in image and pixelmap elements by item ids. The identifiers name items that were uploaded together with the
 * annotations.
 */
export class OverlayReferences {
  readonly #itemIdByName = new Map<string, string | null>();
  readonly #field: string;

  constructor(
    brand: string,
    private readonly resolve: ResolveItem,
  ) {
    this.#field = itemField(brand);
  }

  /** Names for which no item was found. */
  get unresolvedNames(): string[] {
    return [...this.#itemIdByName].flatMap(([name, itemId]) => (itemId === null ? [name] : []));
  }

  /** Replaces identifiers in elements by item ids. Returns the same list if no element has an identifier. */
  readonly replaceIdentifiers = async (elements: readonly unknown[]): Promise<readonly unknown[]> => {
    let newElements: unknown[] | null = null;
    for (const [index, element] of elements.entries()) {
      const name = this.#nameIn(element);
      if (name === null) continue;
      const itemId = (await this.#findItem(name)) ?? placeholderId;
      if (itemId === name) continue;
      newElements ??= [...elements];
      newElements[index] = { ...(element as JsonObject), [this.#field]: itemId };
    }
    return newElements ?? elements;
  };

  #nameIn(element: unknown): string | null {
    if (typeof element !== 'object' || element === null) return null;
    const { type, [this.#field]: name } = element as JsonObject;
    if ((type !== 'image' && type !== 'pixelmap') || typeof name !== 'string') return null;
    // Texts that cannot be identifiers are left to the schema, which refuses them.
    return name === '' || name.length > maxNameLength ? null : name;
  }

  async #findItem(name: string): Promise<string | null> {
    const cached = this.#itemIdByName.get(name);
    if (cached !== undefined) return cached;
    if (this.#itemIdByName.size >= maxIdentifiers) {
      throw new BadParameterError(`A file may refer to at most ${maxIdentifiers} items.`);
    }
    const itemId = await this.resolve(name);
    this.#itemIdByName.set(name, itemId);
    return itemId;
  }
}

/** Whether a text has the form of an item id. */
export function isItemId(text: string): boolean {
  return itemIdPattern.test(text);
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** Number of bytes at the beginning of a file that show whether the file is a list of features. */
const headBytes = 1024;
const featureListPattern = /^\s*\[\s*\{\s*"type"\s*:\s*"Feature"/;

/**
 * Yields the bytes of a file of annotations in the form that the store reads. Removes a byte order mark, and turns a bare list of features,
 * which QuPath writes, into a FeatureCollection.
 */
export async function* normalizeAnnotationFile(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = file[Symbol.asyncIterator]();
  try {
    let head: Buffer = Buffer.alloc(0);
    let next = await iterator.next();
    while (next.done !== true && head.length < headBytes) {
      head = Buffer.concat([head, next.value]);
      next = await iterator.next();
    }
    if (head.subarray(0, 3).equals(byteOrderMark)) head = head.subarray(3);
    const isFeatureList = featureListPattern.test(head.subarray(0, headBytes).toString('latin1'));
    if (isFeatureList) yield Buffer.from('{"type":"FeatureCollection","features":');
    if (head.length > 0) yield head;
    for (; next.done !== true; next = await iterator.next()) yield next.value;
    if (isFeatureList) yield Buffer.from('}');
  } finally {
    await iterator.return?.();
  }
}
