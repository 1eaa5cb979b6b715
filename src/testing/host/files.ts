import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { StoredDocument } from '../../host.js';
import { idText } from '../../core/database/id-text.js';
import { newAttachedPicture, content, newContent, readAll, type HostChecks } from './trial.js';

/** Checks of storing, reading and removing files. */
export const fileChecks: HostChecks = {
  'stores a stream as a file of the item, and returns its bytes by range and by path': async (trial) => {
    const { item } = await trial.newItem(false);
    const file = trial.records.fileOf(await trial.createFile(item, Readable.from([content])));
    assert.equal(file.name, 'fox.txt', 'a file keeps its name');
    assert.equal(file.mimeType, 'text/plain', 'a file keeps its type');
    assert.equal(file.size, content.length, 'the size of a file is the number of its bytes');
    const record = trial.records.itemOf(item);
    assert.deepEqual(
      (await trial.records.findFilesOfItem(record)).map(({ id }) => id),
      [file.id],
      'a stored file is in the list of its item',
    );
    const range = await readAll(await trial.host.files.read(file.doc, { start: 4, end: 9 }));
    assert.equal(range.toString(), 'quick', 'read returns the bytes from `start` up to, but not including, `end`');
    const path = await trial.host.files.localPath(file.doc);
    if (path !== null)
      assert.deepEqual(await readFile(path), content, 'localPath returns the path of a file with the same bytes');
  },

  "stores attached files with the plugin's fields, and does not list them with the files of the item": async (trial) => {
    const { item } = await trial.newItem(false);
    const attachedFile = await trial.host.files.create(newAttachedPicture(item, 16), Readable.from([content]));
    const storedFile = await trial.records.findFile(idText(attachedFile._id));
    assert.equal(storedFile?.doc.isLargeImageThumbnail, true, 'create stores the members of `fields`');
    assert.equal(storedFile?.doc.thumbnailKey, '{"width":16}', 'create stores the members of `fields`');
    assert.deepEqual(
      await trial.records.findFilesOfItem(trial.records.itemOf(item)),
      [],
      'files that failed or are attached are not in the list of the item',
    );
  },

  'leaves nothing behind when the stream of a file fails or is too short': async (trial) => {
    const { item } = await trial.newItem(false);
    const failingStream = Readable.from(
      (async function* () {
        yield content.subarray(0, 3);
        throw new Error('the connection was lost');
      })(),
    );
    await trial.expectNoBytesLeft(async () => {
      await assert.rejects(async () => trial.createFile(item, failingStream), 'create fails if its stream fails');
      const shortStream = Readable.from([content.subarray(0, 3)]);
      await assert.rejects(
        async () => trial.createFile(item, shortStream),
        'create fails if its stream ends before `size` bytes',
      );
    });
    assert.deepEqual(
      await trial.records.findFilesOfItem(trial.records.itemOf(item)),
      [],
      'files that failed or are attached are not in the list of the item',
    );
  },

  'stops storing a file when its signal is aborted, and leaves nothing behind': async (trial) => {
    const { item } = await trial.newItem(false);
    const aborter = new AbortController();
    // A host that ignores the signal stores the whole file.
    const stream = Readable.from(
      (async function* () {
        yield content.subarray(0, 3);
        aborter.abort(new Error('the caller disconnected'));
        await new Promise((resolve) => void setImmediate(resolve));
        yield content.subarray(3);
      })(),
    );
    await trial.expectNoBytesLeft(async () => {
      await assert.rejects(
        async () => trial.createFile(item, stream, { signal: aborter.signal }),
        'a file is not stored when the signal of `create` is aborted before its bytes are complete',
      );
      await assert.rejects(
        async () => trial.createFile(item, Readable.from([content]), { signal: AbortSignal.abort() }),
        'a file is not stored when the signal of `create` has already been aborted',
      );
    });
    assert.deepEqual(
      await trial.records.findFilesOfItem(trial.records.itemOf(item)),
      [],
      'files that failed or are attached are not in the list of the item',
    );
  },

  'removes the record and the bytes of a file': async (trial) => {
    const { item } = await trial.newItem(false);
    const { files } = trial.host;
    let file!: StoredDocument;
    let path = null as string | null;
    await trial.expectNoBytesLeft(async () => {
      file = await trial.createFile(item);
      path = await files.localPath(file);
      await files.remove(file);
    });
    assert.equal(await trial.records.findFile(idText(file._id)), null, 'remove removes the record of the file');
    const remainingBytes = await files
      .read(file, { start: 0, end: content.length })
      .then(readAll)
      .catch(() => Buffer.alloc(0));
    assert.equal(remainingBytes.length, 0, 'the bytes of a removed file cannot be read anymore');
    if (path !== null) await assert.rejects(readFile(path), 'the path of a removed file is gone');
  },

  'creates several files at once, independently of each other, if it has `files.createMany`': async (trial) => {
    const { files, models } = trial.host;
    if (!files.createMany) return;
    const { item } = await trial.newItem(false);
    const missingItem = { ...item, _id: '0123456789abcdef01234567' };
    const makeEntry = (owner: StoredDocument, size: number, stream: Readable) => ({
      file: { ...newAttachedPicture(owner, size), size },
      content: stream,
    });
    const brokenStream = new Readable({ read: () => void brokenStream.destroy(new Error('the disk failed')) });
    const results = await files.createMany([
      makeEntry(item, content.length, Readable.from([content])),
      makeEntry(item, content.length + 1, Readable.from([content])),
      makeEntry(item, 3, Readable.from([Buffer.from('abc')])),
      makeEntry(item, 3, brokenStream),
      makeEntry(missingItem, 3, Readable.from([Buffer.from('abc')])),
      makeEntry(item, 0, Readable.from([])),
    ]);
    const expectedStates = ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'rejected', 'fulfilled'];
    assert.deepEqual(
      results.map(({ status }) => status),
      expectedStates,
      'createMany stores each file separately: one that fails does not stop the others',
    );
    const [first, , third] = results.map((each) => (each.status === 'fulfilled' ? each.value : null));
    const firstBytes = await readAll(await files.read(first!, { start: 0, end: content.length }));
    assert.deepEqual(firstBytes, content, 'createMany stores the bytes of each file');
    const bytes = await readAll(await files.read(third!, { start: 0, end: 3 }));
    assert.deepEqual(bytes, Buffer.from('abc'), 'createMany stores the bytes of each file');
    const attachedCount = await models.file.countDocuments({ attachedToId: item._id } as never);
    assert.equal(attachedCount, 3, 'createMany leaves no record of a file that failed');
  },

  'removes several files at once, even if some no longer exist, if it has `files.removeMany`': async (trial) => {
    const { files, models } = trial.host;
    if (!files.removeMany) return;
    const { item } = await trial.newItem(false);
    const docs = [await trial.createFile(item), await trial.createFile(item)];
    for (let width = 1; width <= 5; width += 1)
      docs.push(await files.create(newAttachedPicture(item, width), Readable.from([newContent()])));
    const paths = await Promise.all(docs.map((doc) => files.localPath(doc)));
    await files.remove(docs[1]!);
    await files.remove(docs[2]!);
    await Promise.all([files.removeMany(docs), files.removeMany(docs)]);
    await files.removeMany([]);
    const remainingCount = await models.file.countDocuments({ _id: { $in: docs.map(({ _id }) => _id) } } as never);
    assert.equal(remainingCount, 0, 'removeMany removes the records of all files, even if some no longer exist');
    for (const path of paths)
      if (path !== null) await assert.rejects(readFile(path), { code: 'ENOENT' }, 'removeMany removes the bytes of all files');
  },

  'stores the large-image record of an item, and lets one of two simultaneous claims succeed': async (trial) => {
    const { item } = await trial.newItem(false);
    const file = await trial.createFile(item);
    const record = trial.records.itemOf(item);
    const claims = await Promise.all(
      [1, 2].map(() => trial.records.markers.claim(record, { fileId: file._id, sourceName: 'tiff' })),
    );
    assert.equal(claims.filter((claim) => claim !== null).length, 1, 'of two simultaneous claims exactly one succeeds');
    const sourceName = (await trial.records.findItem(record.id))?.largeImage?.sourceName;
    assert.equal(sourceName, 'tiff', 'the item keeps its large-image record');
  },

  'stores the large-image records of several items that are claimed together': async (trial) => {
    const items = [];
    for (let i = 0; i < 4; i += 1) items.push((await trial.newItem(false)).item);
    const records = items.map((item) => trial.records.itemOf(item));
    const files = await Promise.all(items.map((item) => trial.createFile(item)));
    const { markers } = trial.records;
    await markers.claim(records[3]!, { fileId: files[3]!._id, sourceName: 'first' });
    const claims = [0, 1, 2, 3, 0].map((i) => markers.claim(records[i]!, { fileId: files[i]!._id, sourceName: `tiff ${i}` }));
    const claimedSources = (await Promise.all(claims)).map((item) => item?.largeImage?.sourceName);
    const expectedSources = ['tiff 0', 'tiff 1', 'tiff 2', undefined, undefined];
    assert.deepEqual(claimedSources, expectedSources, 'only the first claim for each item without a large image succeeds');
    const storedItems = await Promise.all(records.map(({ id }) => trial.records.findItem(id)));
    const names = storedItems.map((item) => item?.largeImage?.sourceName);
    assert.deepEqual(names, ['tiff 0', 'tiff 1', 'tiff 2', 'first'], 'the items keep their large-image records');
  },
};
