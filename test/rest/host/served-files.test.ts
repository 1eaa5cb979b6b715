import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ContentHashes } from '../../../src/reference-host/start/content/content-hashes.js';
import { ServedFiles, type ScanCounts } from '../../../src/reference-host/start/content/served-files.js';
import { maxOpenedTogether } from '../../../src/features/images/image-marking.js';
import { openTestImage, testSource } from '../../../src/tilesource/sources/test/test-source.js';
import { priorities, type TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';
import { pyramid } from '../../support/images/images.js';

interface Item {
  _id: string;
  name: string;
  folderId: string;
  largeImage?: unknown;
  fileMissing?: string;
  fileChanged?: string;
}

/** Opens files only when all files of a group have been requested, so that they become images at the same moment. */
class TogetherSource {
  readonly opened: string[] = [];
  #openAll = () => {};
  readonly #all = new Promise<void>((resolve) => (this.#openAll = resolve));
  readonly definition: TileSourceDefinition = {
    ...testSource,
    name: 'together',
    extensions: { default: priorities.manual, together: priorities.preferred },
    mimeTypes: { default: priorities.manual },
    open: async ({ name }) => {
      if (this.opened.push(name) === maxOpenedTogether) this.#openAll();
      await this.#all;
      return openTestImage({ sizeX: 300, sizeY: 200 });
    },
  };
}

describe('files that are served in place', () => {
  const together = new TogetherSource();
  let server: TestHost;
  let admin: Client;
  let work: string;
  let folder: string;
  let served: ServedFiles;
  const leftOut: string[] = [];
  beforeAll(async () => {
    server = await startHost({ install: { tileSources: [together.definition] } });
    admin = await server.register('admin');
    work = await realpath(await mkdtemp(join(tmpdir(), 'served-')));
    await server.swept();
  });
  afterAll(async () => {
    await server.close();
    await rm(work, { recursive: true, force: true });
  });
  let count = 0;
  beforeEach(async () => {
    folder = join(work, `slides ${++count}`);
    await mkdir(folder);
    leftOut.length = 0;
    missingBefore = await server.host.context.models.item.countDocuments({ fileMissing: { $ne: null } });
    served = new ServedFiles({
      paths: [folder],
      creatorId: null,
      isPublic: false,
      onProgress: () => undefined,
      onLeftOut: (path) => leftOut.push(path),
    });
  });
  let missingBefore = 0;
  /** Scans, and returns the counts; `missing` does not include files of other tests. */
  const scan = async () => {
    const scanned = await served.scan(server.host.context, new AbortController().signal);
    return { ...scanned, missing: scanned.missing - missingBefore };
  };
  const counts = (changes: Partial<ScanCounts>): ScanCounts => ({
    files: 0,
    added: 0,
    moved: 0,
    changed: 0,
    missing: 0,
    ...changes,
  });
  const write = async (name: string, side: number) => writeFile(join(folder, name), await pyramid(side, side));
  let failures: unknown[] = [];
  /** Scans, and compares the middle of files. @returns the number of files that had changed there. */
  const compare = async () => {
    const context = server.host.context;
    const scanned = await scan();
    let changed = 0;
    failures = [];
    const hashes = new ContentHashes({
      useContext: (work) => work(context),
      onChanged: (count) => (changed += count),
      onFailure: (error) => failures.push(error),
      signal: new AbortController().signal,
    });
    hashes.compare(served.uncomparedIds);
    await hashes.waitUntilIdle();
    expect(failures).toEqual([]);
    return { ...scanned, inMiddle: changed };
  };
  const item = async (id: string) => (await admin.ok('GET', `/item/${id}`)) as unknown as Item;
  const find = async (name: string) => {
    const items = await server.host.context.models.item.find({ name }).sort({ _id: -1 }).lean();
    return item(items[0]!._id.toHexString());
  };
  const status = async (path: string) => {
    const { status: code, body } = await admin.send('GET', path);
    return [code, body.message];
  };

  it('keep item, annotations and links when they are renamed, moved, or moved to another disk', async () => {
    await write('a.tiff', 300);
    expect(await scan()).toEqual(counts({ files: 1, added: 1 }));
    const { _id } = await find('a.tiff');
    await admin.ok('POST', '/annotation', { query: { itemId: _id }, json: { name: 'kept', elements: [] } });
    await mkdir(join(folder, 'deep', 'er'), { recursive: true });
    await rename(join(folder, 'a.tiff'), join(folder, 'deep', 'er', 'b.tiff'));
    expect(await scan()).toEqual(counts({ files: 1, moved: 1 }));
    expect(await find('b.tiff')).toMatchObject({ _id, largeImage: {} });
    expect((await admin.send('GET', `/item/${_id}/tiles/zxy/0/0/0`)).status).toBe(200);
    const path = (await admin.ok('GET', `/item/${_id}/rootpath`)) as unknown as { object: { name: string } }[];
    expect(path.map(({ object }) => object.name)).toEqual(['Local files', `slides ${count}`, 'deep', 'er']);
    // A copy with the same time replaces the file, so it is another file for the system.
    const { atime, mtime } = await stat(join(folder, 'deep', 'er', 'b.tiff'));
    await cp(join(folder, 'deep', 'er', 'b.tiff'), join(folder, 'c.tiff'));
    await utimes(join(folder, 'c.tiff'), atime, mtime);
    await rm(join(folder, 'deep'), { recursive: true });
    expect(await scan()).toEqual(counts({ files: 1, moved: 1 }));
    expect(await find('c.tiff')).toMatchObject({ _id });
    const annotations = (await admin.ok('GET', '/annotation', { query: { itemId: _id } })) as unknown as Record<
      string,
      unknown
    >[];
    expect(annotations).toHaveLength(1);
    expect(annotations[0]).not.toHaveProperty('fileChanged');
    expect(await item(_id)).not.toHaveProperty('fileChanged');
    // Another file of the same size is not a moved file.
    await rename(join(folder, 'c.tiff'), join(work, 'away.tiff'));
    const bytes = await readFile(join(work, 'away.tiff'));
    bytes[bytes.length - 1]! ^= 255;
    await writeFile(join(folder, 'd.tiff'), bytes);
    await utimes(join(folder, 'd.tiff'), atime, mtime);
    expect(await scan()).toEqual(counts({ files: 1, added: 1, missing: 1 }));
  });

  it('mark the item and older annotations when the contents change, but not when the file is only touched', async () => {
    await write('a.tiff', 300);
    await scan();
    const { _id } = await find('a.tiff');
    await admin.ok('POST', '/annotation', { query: { itemId: _id }, json: { name: 'older', elements: [] } });
    await utimes(join(folder, 'a.tiff'), new Date(), new Date(Date.now() + 60_000));
    expect(await scan()).toEqual(counts({ files: 1 }));
    expect(await item(_id)).not.toHaveProperty('fileChanged');
    await write('a.tiff', 400);
    const before = Date.now();
    expect(await scan()).toEqual(counts({ files: 1, changed: 1 }));
    const changed = await item(_id);
    expect(new Date(changed.fileChanged!).getTime()).toBeGreaterThanOrEqual(before - 1000);
    expect(await admin.ok('GET', `/item/${_id}/tiles`)).toMatchObject({ sizeX: 400 });
    await admin.ok('POST', '/annotation', { query: { itemId: _id }, json: { name: 'newer', elements: [] } });
    const annotations = (await admin.ok('GET', '/annotation', { query: { itemId: _id, sort: 'created' } })) as unknown as {
      annotation: { name: string };
      fileChanged?: string;
    }[];
    expect(annotations.map(({ annotation, fileChanged }) => [annotation.name, fileChanged])).toEqual([
      ['older', changed.fileChanged],
      ['newer', undefined],
    ]);
  });

  it('keep the mark of an annotation when its item is copied, and remove it when the annotation moves to another item', async () => {
    await write('a.tiff', 300);
    await scan();
    const { _id } = await find('a.tiff');
    const { _id: annotationId } = await admin.ok('POST', '/annotation', {
      query: { itemId: _id },
      json: { name: 'older', elements: [] },
    });
    await write('a.tiff', 400);
    await scan();
    const { fileChanged } = await item(_id);
    const parent = await admin.ok('POST', '/collection', { query: { name: `copies ${count}` } });
    const { _id: folderId } = await admin.ok('POST', '/folder', {
      query: { parentType: 'collection', parentId: parent._id as string, name: 'copies' },
    });
    const copy = await admin.ok('POST', `/item/${_id}/copy`, { query: { folderId: folderId as string } });
    const copied = (await admin.ok('GET', '/annotation', { query: { itemId: copy._id as string } })) as unknown as object[];
    expect(copied).toEqual([expect.objectContaining({ fileChanged })]);
    const path = `/annotation/${annotationId as string}`;
    expect(await admin.ok('GET', path)).toMatchObject({ fileChanged });
    await admin.ok('PUT', path, { query: { itemId: copy._id as string } });
    expect(await admin.ok('GET', path)).not.toHaveProperty('fileChanged');
  });

  it.each([
    ['other bytes in its middle', 'write', 1],
    ['other bytes in its middle, and another inode number', 'replace', 1],
    ['another time only', 'touch', 0],
    ['another inode number only', 'copy', 0],
    ['another time before it was read whole', 'early', 0],
  ] as const)('are compared whole when a file has %s', async (_what, kind, changed) => {
    const path = join(folder, 'a.tiff');
    await write('a.tiff', 600);
    const before = await readFile(path);
    expect(before.length).toBeGreaterThan(40_000);
    const { atime, mtime } = await stat(path);
    const { added, inMiddle } = kind === 'early' ? { ...(await scan()), inMiddle: 0 } : await compare();
    expect({ added, inMiddle }).toEqual({ added: 1, inMiddle: 0 });
    const { _id } = await find('a.tiff');
    await admin.ok('POST', '/annotation', { query: { itemId: _id }, json: { name: 'older', elements: [] } });
    const other = Buffer.from(before);
    if (changed === 1) other[20_000]! ^= 255;
    if (kind === 'write') await writeFile(path, other);
    else if (kind === 'replace' || kind === 'copy') {
      await writeFile(join(work, 'other'), other);
      await rename(join(work, 'other'), path);
    }
    await utimes(path, atime, kind === 'copy' ? mtime : new Date(mtime.getTime() + 10_000));
    expect(await compare()).toEqual({ ...counts({ files: 1 }), inMiddle: changed });
    expect('fileChanged' in (await item(_id))).toBe(changed === 1);
    const [annotation] = (await admin.ok('GET', '/annotation', { query: { itemId: _id } })) as unknown as object[];
    expect('fileChanged' in annotation!).toBe(changed === 1);
    // Afterwards there is nothing to compare.
    expect(await compare()).toEqual({ ...counts({ files: 1 }), inMiddle: 0 });
    expect(served.uncomparedIds).toEqual([]);
  });

  it('are replaced when their size differs and their time does not, and when another known file is moved over them', async () => {
    await write('a.tiff', 300);
    await write('b.tiff', 400);
    const { atime, mtime } = await stat(join(folder, 'a.tiff'));
    await scan();
    const [a, b] = [await find('a.tiff'), await find('b.tiff')];
    await write('a.tiff', 500);
    await utimes(join(folder, 'a.tiff'), atime, mtime);
    expect(await scan()).toEqual(counts({ files: 2, changed: 1 }));
    expect(await item(a._id)).toHaveProperty('fileChanged');
    expect(await admin.ok('GET', `/item/${a._id}/tiles`)).toMatchObject({ sizeX: 500 });
    // The other file has replaced the first one, and its former path is empty.
    await rename(join(folder, 'b.tiff'), join(folder, 'a.tiff'));
    expect(await scan()).toEqual(counts({ files: 1, changed: 1, missing: 1 }));
    expect(await admin.ok('GET', `/item/${a._id}/tiles`)).toMatchObject({ sizeX: 400 });
    expect(await item(b._id)).toHaveProperty('fileMissing');
    expect(await scan()).toEqual(counts({ files: 1, missing: 1 }));
  });

  it('keep their items when they exchange their names, or each gets the name of the next', async () => {
    for (const [name, side] of [
      ['1.tiff', 300],
      ['2.tiff', 400],
      ['3.tiff', 500],
    ] as const)
      await write(name, side);
    await scan();
    const ids = await Promise.all(['1.tiff', '2.tiff', '3.tiff'].map(async (name) => (await find(name))._id));
    const names = async () => Promise.all(ids.map(async (id) => (await item(id)).name));
    for (const [from, to] of [
      ['3.tiff', '4.tiff'],
      ['2.tiff', '3.tiff'],
      ['1.tiff', '2.tiff'],
    ] as const)
      await rename(join(folder, from), join(folder, to));
    expect(await scan()).toEqual(counts({ files: 3, moved: 3 }));
    expect(await names()).toEqual(['2.tiff', '3.tiff', '4.tiff']);
    const exchanged = await stat(join(folder, '2.tiff'));
    for (const [from, to] of [
      ['2.tiff', 'x'],
      ['3.tiff', '2.tiff'],
      ['x', '3.tiff'],
    ] as const)
      await rename(join(folder, from), join(folder, to));
    expect(await scan()).toEqual(counts({ files: 3, moved: 2 }));
    expect(await names()).toEqual(['3.tiff', '2.tiff', '4.tiff']);
    expect((await stat(join(folder, '3.tiff'))).ino).toBe(exchanged.ino);
    for (const [index, sizeX] of [300, 400, 500].entries())
      expect(await admin.ok('GET', `/item/${ids[index]}/tiles`)).toMatchObject({ sizeX });
    // If a moved file replaces the only copy of another one, no item can follow its file.
    await rename(join(folder, '3.tiff'), join(folder, '4.tiff'));
    await rename(join(folder, '2.tiff'), join(folder, '3.tiff'));
    expect(await scan()).toEqual(counts({ files: 2, changed: 2, missing: 1 }));
    expect(await scan()).toEqual(counts({ files: 2, missing: 1 }));
  });

  it('are marked when they are missing, say so on every route, and come back', async () => {
    await write('a.tiff', 300);
    await writeFile(join(folder, 'readme.txt'), 'x');
    await scan();
    const { _id } = await find('a.tiff');
    const away = `${folder} away`;
    await rename(folder, away);
    expect(await scan()).toMatchObject({ files: 0, missing: 2 });
    expect(leftOut).toEqual([folder]);
    const missing = await item(_id);
    expect(missing.fileMissing).toMatch(/^\d{4}-/);
    // For half a second the server may still know the file as it was.
    await until('the file is missed', async () => (await admin.send('GET', `/item/${_id}/tiles`)).status === 400);
    const sentence = expect.stringContaining('a.tiff is missing') as string;
    for (const [path, code] of [
      ['tiles', 400],
      ['tiles/zxy/0/0/0', 404],
      ['tiles/thumbnail', 400],
      ['tiles/region', 400],
      ['tiles/internal_metadata', 400],
      ['tiles/images', 400],
      ['tiles/histogram', 400],
      ['tiles/bands', 400],
      ['tiles/dzi.dzi', 400],
      ['dicomweb', 409],
      ['download', 404],
    ] as const) {
      expect([path, ...(await status(`/item/${_id}/${path}`))]).toEqual([path, code, sentence]);
    }
    // The mark stays as it is.
    await scan();
    expect((await item(_id)).fileMissing).toBe(missing.fileMissing);
    await rename(away, folder);
    expect(await scan()).toMatchObject({ files: 2, added: 0, changed: 0 });
    expect(await item(_id)).not.toHaveProperty('fileMissing');
    // For half a second the server may still take the file for the one that was gone.
    await until('the tile is back', async () => (await admin.send('GET', `/item/${_id}/tiles/zxy/0/0/0`)).status === 200);
  });

  it('are left out, with one line in the log, where a link leads out of the folder', async () => {
    await write('a.tiff', 300);
    await writeFile(join(work, 'secret.txt'), 'secret');
    await mkdir(join(folder, 'below'));
    for (const [target, name] of [
      [join(work, 'secret.txt'), 'file.txt'],
      [work, 'above'],
      ['/', join('below', 'root')],
      [join(folder, 'a.tiff'), 'inside.tiff'],
      [folder, join('below', 'loop')],
      ['nowhere', 'broken'],
    ] as const) {
      await symlink(target, join(folder, name));
    }
    expect(await scan()).toEqual(counts({ files: 1, added: 1 }));
    expect(leftOut.sort()).toEqual(['above', join('below', 'root'), 'broken', 'file.txt'].map((name) => join(folder, name)));
    expect(await scan()).toEqual(counts({ files: 1 }));
    expect(leftOut).toHaveLength(4);
  });

  it('are all marked when the folder disappears, and come back with it', async () => {
    await write('a.tiff', 300);
    await mkdir(join(folder, 'below'));
    await writeFile(join(folder, 'below', 'b.txt'), 'b');
    expect(await scan()).toEqual(counts({ files: 2, added: 2 }));
    const { _id } = await find('a.tiff');
    await rename(folder, `${folder} away`);
    expect(await scan()).toEqual(counts({ missing: 2 }));
    expect(leftOut).toEqual([folder]);
    expect(await item(_id)).toHaveProperty('fileMissing');
    await rename(`${folder} away`, folder);
    expect(await scan()).toEqual(counts({ files: 2 }));
    expect(await item(_id)).not.toHaveProperty('fileMissing');
  });

  it('have items with sizes when they are many, except those whose names no item may have', async () => {
    const names = Array.from({ length: 70 }, (_, index) => `${index}.txt`);
    for (const name of [...names, ' ', ' 7.txt']) await writeFile(join(folder, name), name);
    expect(await scan()).toEqual(counts({ files: 72, added: 71 }));
    expect(leftOut).toEqual([join(folder, ' ')]);
    const { folderId } = await find('69.txt');
    const items = await server.host.context.models.item.find({ folderId }).lean();
    expect(items.map(({ name }) => name).sort()).toEqual([...names, '7.txt (1)'].sort());
    const sum = [...names, ' 7.txt'].reduce((bytes, name) => bytes + name.length, 0);
    expect((await server.host.context.models.folder.findById(folderId).lean())!.size).toBe(sum);
    expect(await server.host.context.models.undertaking.countDocuments({ kind: 'registering' } as never)).toBe(0);
  });

  it('are opened once each, and become images with few commands to the database', async () => {
    // These are more files than are opened at the same time, but all become images together.
    const names = Array.from({ length: maxOpenedTogether + 32 }, (_, index) => `${index}.together`);
    for (const name of names) await writeFile(join(folder, name), name);
    const { mongoose, context } = { ...server.host.host, context: server.host.context };
    const allCommands: { method: string; words: string }[] = [];
    mongoose.set('debug', (collection: string, method: string, ...words: unknown[]) => {
      if (collection === context.models.item.collection.name) allCommands.push({ method, words: JSON.stringify(words) });
    });
    await scan();
    mongoose.set('debug', false);
    expect(together.opened.toSorted()).toEqual(names.toSorted());
    const imageItems = await context.models.item.find({ 'largeImage.sourceName': 'together' }, { _id: 1 }).lean();
    expect(imageItems).toHaveLength(names.length);
    // Other commands are left over from earlier tests.
    const commands = allCommands.filter(({ words }) => imageItems.some(({ _id }) => words.includes(_id.toHexString())));
    expect(commands.filter(({ method }) => method === 'bulkWrite')).toHaveLength(1);
    // Nothing is read again.
    expect(commands.filter(({ method, words }) => method === 'find' && words.startsWith('[{"_id"'))).toEqual([]);
    expect(commands.length).toBeLessThan(names.length / 2);
  });

  it('of a folder *.zarr are one item, which is read with its chunks, and moves with its folder', async () => {
    const zarr = join(folder, 'a.zarr');
    await mkdir(join(zarr, '0', '0'), { recursive: true });
    const json = (value: unknown) => JSON.stringify(value);
    const axes = ['y', 'x'].map((name) => ({ name, type: 'space' }));
    const datasets = [{ path: '0', coordinateTransformations: [{ type: 'scale', scale: [1, 1] }] }];
    await writeFile(join(zarr, '.zgroup'), json({ zarr_format: 2 }));
    await writeFile(join(zarr, '.zattrs'), json({ multiscales: [{ version: '0.4', axes, datasets }] }));
    const array = {
      zarr_format: 2,
      shape: [16, 16],
      chunks: [16, 16],
      dtype: '|u1',
      compressor: null,
      fill_value: 0,
      order: 'C',
      filters: null,
      dimension_separator: '/',
    };
    await writeFile(join(zarr, '0', '.zarray'), json(array));
    await writeFile(join(zarr, '0', '0', '0'), Buffer.alloc(256, 200));
    // An array outside of a group is no image, but its chunks are no files either.
    await mkdir(join(folder, 'array.zarr'));
    for (const name of ['.zarray', '0.0', '0.1']) await writeFile(join(folder, 'array.zarr', name), json(array));
    expect(await scan()).toEqual(counts({ files: 2, added: 2 }));
    const { _id } = await find('a.zarr');
    const pixel = async () => (await admin.ok('GET', `/item/${_id}/tiles/pixel`, { query: { left: 3, top: 3 } })).value;
    expect(await pixel()).toEqual([200]);
    expect(await scan()).toEqual(counts({ files: 2 }));
    await writeFile(join(zarr, '0', '0', '0'), Buffer.alloc(256, 90));
    await utimes(join(zarr, '0', '0', '0'), 1, 1);
    expect(await scan()).toEqual(counts({ files: 2, changed: 1 }));
    expect(await scan()).toEqual(counts({ files: 2 }));
    await until('the chunk is shown', async () => ((await pixel()) as number[])[0] === 90);
    expect(await find('a.zarr')).toMatchObject({ fileChanged: expect.any(String) });
    await rename(zarr, join(folder, 'b.zarr'));
    expect(await scan()).toEqual(counts({ files: 2, moved: 1 }));
    expect(await find('b.zarr')).toMatchObject({ _id });
    expect(await pixel()).toEqual([90]);
    await rm(join(folder, 'b.zarr'), { recursive: true });
    expect(await scan()).toEqual(counts({ files: 1, missing: 1 }));
    await until('the folder is missed', async () => (await admin.send('GET', `/item/${_id}/tiles`)).status === 400);
    const sentence = expect.stringContaining('b.zarr/.zattrs is missing') as string;
    for (const path of ['tiles', 'download'])
      expect(await status(`/item/${_id}/${path}`)).toEqual([expect.any(Number), sentence]);
  });
});
