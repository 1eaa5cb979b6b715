import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('a second server on the same database', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  const second: { host: ReferenceHost | null } = { host: null };
  const logged: { event: string; fields: Record<string, unknown> }[] = [];

  const startSecond = async (dataDirectory: string) => {
    logged.length = 0;
    const log = (fields: object, event: string) => void logged.push({ event, fields: fields as Record<string, unknown> });
    second.host = await createReferenceHost({
      mongoUri: started.databaseUri,
      dataDirectory,
      passwordMemoryKiB: 8,
      logger: { debug() {}, info: log, warn: log, error: log },
    });
    await until('the plugin has swept', () => logged.some(({ event }) => event === 'Sweep:Done'));
  };
  const cachedThumbnails = async () =>
    (await started.host.context.models.file.countDocuments({ attachedToType: 'item' } as never)) as number;

  beforeEach(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await mkdtemp(join(tmpdir(), 'other-data-'));
    const collection = await admin.create('/collection', { name: 'Slides' });
    const parentId = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Slides' });
    const body = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#a05' } })
      .tiff({ tile: true })
      .toBuffer();
    const query = { parentType: 'folder', parentId, name: 'a.tif', size: body.length };
    const { itemId } = await admin.ok('POST', '/file', { query, body });
    await admin.send('GET', `/item/${String(itemId)}/tiles/thumbnail`);
    await until('the thumbnail is kept', async () => (await cachedThumbnails()) === 1);
  });
  afterEach(async () => {
    await second.host?.close();
    second.host = null;
    await started.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('with another data folder names the one that the database belongs to, and sweeps nothing', async () => {
    await startSecond(folder);
    expect(logged.find(({ event }) => event === 'Host:OtherDataFolder')?.fields).toMatchObject({
      folder,
      belongsTo: { root: started.dataDirectory },
    });
    expect(logged.map(({ event }) => event)).not.toContain('Host:BytesMissing');
    expect(logged.map(({ event }) => event)).not.toContain('Host:Swept');
    expect(await cachedThumbnails()).toBe(1);
  });

  it('recognizes the same folder when it is reached by another path or was moved', async () => {
    await startSecond(join(started.dataDirectory, '..', started.dataDirectory.split('/').at(-1)!));
    expect(logged.map(({ event }) => event)).not.toContain('Host:OtherDataFolder');
    await second.host!.close();
    const moved = join(folder, 'moved');
    await rename(started.dataDirectory, moved);
    await startSecond(moved);
    expect(logged.map(({ event }) => event)).not.toContain('Host:OtherDataFolder');
    await second.host!.close();
    second.host = null;
    await rename(moved, started.dataDirectory);
  });
});

it('uses a folder of another database with a new one, and says so', async () => {
  const former = await startHost();
  const logged: string[] = [];
  const log = (_fields: object, event: string) => void logged.push(event);
  const logger = { debug() {}, info: log, warn: log, error: log };
  const dataDirectory = await mkdtemp(join(tmpdir(), 'new-data-'));
  const { uri: mongoUri, stop } = await startTestDatabase();
  const events = async (directory: string) => {
    logged.length = 0;
    const host = await createReferenceHost({ mongoUri, dataDirectory: directory, passwordMemoryKiB: 8, logger });
    await until('the host has swept', () => logged.includes('Sweep:Done'));
    await host.close();
    return logged.filter((event) => event.includes('Folder'));
  };
  try {
    expect(await events(former.dataDirectory)).toEqual(['Host:FolderOfOtherDatabase']);
    expect(await events(former.dataDirectory)).toEqual(['Host:FolderOfOtherDatabase']);
    // The files of the new database are in the former folder now.
    expect(await events(dataDirectory)).toEqual(['Host:OtherDataFolder']);
  } finally {
    await stop();
    await former.close();
    await rm(dataDirectory, { recursive: true, force: true });
  }
});
