import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from 'mongoose';

type Ids = ReadonlySet<string>;

/**
 * Counts leftovers by kind: bytes without a record, records without bytes, and records that may exist only during a write.
 */
export async function countOrphans(database: Connection, dataDirectory: string): Promise<Record<string, number>> {
  const ids = async (collection: string, field = '_id', filter = {}): Promise<Ids> =>
    new Set((await database.collection(collection).distinct(field, filter)).map(String));
  const prefixed = (name: string) => `large_image_${name}`;
  const countMissing = (candidates: Iterable<string>, knownIds: Ids) => [...candidates].filter((id) => !knownIds.has(id)).length;
  const [keys, uploads, items, files] = [
    await ids('file', 'storage.key'),
    await ids('upload'),
    await ids('item'),
    await ids('file'),
  ];
  const storedKeys = (await readdir(join(dataDirectory, 'files'), { recursive: true })).flatMap(
    (path) => path.split('/')[1] ?? [],
  );
  const partialUploads = await readdir(join(dataDirectory, 'uploads'));
  const families = new Set([
    ...(await ids(prefixed('annotation'), 'elements.family')),
    ...(await ids(prefixed('annotation_version'), 'elements.family')),
  ]);
  let elements = 0;
  for (const kind of ['pack', 'window', 'part']) {
    elements += countMissing(await ids(prefixed(`annotation_element_${kind}`), 'family'), families);
  }
  const marks = { largeImageConversionId: { $ne: null } };
  const count = (name: string, filter = {}) => database.collection(name).countDocuments(filter);
  return {
    'bytes without a file': countMissing(storedKeys, keys),
    'files without bytes': countMissing(keys, new Set(storedKeys)),
    'parts of no upload': countMissing(partialUploads, uploads),
    'files of no item': countMissing(await ids('file', 'itemId', { itemId: { $ne: null } }), items),
    'pictures of no item': countMissing(
      await ids('file', 'attachedToId', { attachedToId: { $ne: null } }),
      new Set([...items, ...files]),
    ),
    'writes half done': await count('undertaking'),
    'elements of no annotation': elements,
    'leases on elements': await count(prefixed('annotation_element_family'), { 'leases.0': { $exists: true } }),
    leases: await count(prefixed('lease')),
    'marks of conversions': (await count('item', marks)) + (await count('file', marks)),
    'items that wait': await count('item', { 'largeImage.expected': true }),
  };
}
