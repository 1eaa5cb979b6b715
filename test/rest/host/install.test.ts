import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closeSpecimenServer, openSpecimenServer, specimenHost } from '../../../examples/host-adapter.js';
import { HostEventEmitter, install, type HostEventName, type HostEventPayloads, type Installation } from '../../../src/index.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { meanColor, plainSlide, startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';

/** Counts listeners. */
class CountedEvents extends HostEventEmitter {
  listening = 0;

  override on<N extends HostEventName>(name: N, listener: (payload: HostEventPayloads[N]) => void | Promise<void>): () => void {
    const off = super.on(name, listener);
    this.listening += 1;
    return () => {
      this.listening -= 1;
      off();
    };
  }
}

describe('two hosts in one process', () => {
  let red: InstalledSpecimens;
  let blue: InstalledSpecimens;

  beforeAll(async () => {
    red = await startSpecimens(() => ({ brand: 'red' }));
    blue = await startSpecimens(() => ({ brand: 'blue' }));
  });
  afterAll(async () => {
    await red?.close();
    await blue?.close();
  });

  it('serve the same ids with their own content', async () => {
    const { specimen, blob } = await red.addSpecimen('slide.tif', await plainSlide({ r: 220, g: 20, b: 20 }));
    const path = `/item/${specimen}/tiles/zxy/1/0/0`;
    const tile = await red.get(path);
    expect(tile.status).toBe(200);
    expect(await blue.get(path).then(({ status }) => status)).toBe(400);

    // The other database has the same records, with another picture.
    const other = await blue.addSpecimen('slide.tif', await plainSlide({ r: 20, g: 20, b: 220 }));
    const [item, file] = await Promise.all([
      blue.server.Specimens.findById(other.specimen).lean(),
      blue.server.Blobs.findById(other.blob).lean(),
    ]);
    const { Types } = blue.server.mongoose;
    await blue.server.Blobs.collection.insertOne({
      ...file,
      _id: new Types.ObjectId(blob),
      specimen: new Types.ObjectId(specimen),
    });
    const largeImage = { fileId: new Types.ObjectId(blob), sourceName: 'tiff' };
    const changedAt = (await red.server.Specimens.findById(specimen).lean())!.changedAt;
    await blue.server.Specimens.collection.insertOne({
      ...item,
      _id: new Types.ObjectId(specimen),
      largeImage,
      changedAt,
    } as never);

    const [r = 0, , b = 0] = await meanColor(await tile.arrayBuffer());
    expect(r).toBeGreaterThan(b + 150);
    const theirs = await blue.get(path);
    expect(theirs.status).toBe(200);
    const [r2 = 0, , b2 = 0] = await meanColor(await theirs.arrayBuffer());
    expect(b2).toBeGreaterThan(r2 + 150);
  });

  it("do not accept each other's tokens", async () => {
    await red.server.Badges.create({ secret: 'curator-of-red', person: 'curator' });
    const setting = '/system/setting?key=large_image.max_thumbnail_files';
    const badge = { Authorization: 'Bearer curator-of-red' };
    expect((await red.get(setting, badge)).status).toBe(200);
    expect((await blue.get(setting, badge)).status).toBe(401);
  });

  it('keep their own settings', async () => {
    await red.installation.settings.set('large_image.max_thumbnail_files', 3);
    expect(await red.installation.settings.get('large_image.max_thumbnail_files')).toBe(3);
    expect(await blue.installation.settings.get('large_image.max_thumbnail_files')).toBe(10);
  });

  it('close independently', async () => {
    const { specimen } = await blue.addSpecimen('further.tif', await plainSlide({ r: 1, g: 200, b: 1 }));
    await red.installation.close();
    expect((await blue.get(`/item/${specimen}/tiles`)).status).toBe(200);
    expect((await red.get(`/item/${specimen}/tiles`)).status).toBe(404);
  });
});

describe('close', () => {
  it('undoes install: schemas, models, routes, jobs and listeners are as before', async () => {
    const events = new CountedEvents();
    const before: Record<string, unknown> = {};
    const stateOf = (server: InstalledSpecimens['server']) => ({
      specimenPaths: Object.keys(server.Specimens.schema.paths).sort(),
      blobPaths: Object.keys(server.Blobs.schema.paths).sort(),
      models: server.mongoose.connection.modelNames().sort(),
      jobs: Object.keys(server.agenda.definitions),
      agendaListeners: server.agenda.listenerCount('error'),
      processListeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
      listening: events.listening,
    });
    const specimens = await startSpecimens((_host, server) => {
      Object.assign(before, stateOf(server));
      return { events };
    });
    const { server, installation } = specimens;
    try {
      const installed = stateOf(server);
      expect(installed.specimenPaths).toContain('largeImage');
      expect(installed.blobPaths).toContain('thumbnailKey');
      expect(installed.listening).toBeGreaterThan(0);
      expect(installed.models).not.toEqual(before.models);
      expect((await specimens.get('/item/test/tiles')).status).toBe(200);

      await installation.close();
      expect(stateOf(server)).toEqual(before);
      expect((await specimens.get('/item/test/tiles')).status).toBe(404);
      // A document is saved with only the fields of the host.
      const saved = await server.Specimens.create({ title: 'after', largeImage: { fileId: 'x' } } as never);
      expect(await server.Specimens.findById(saved._id).lean()).not.toHaveProperty('largeImage');
    } finally {
      await specimens.close();
    }
  });

  it('leaves an empty layer of the router and hooks that do nothing, and no more of them each time', async () => {
    const database = await startTestDatabase();
    const address = new URL(database.uri);
    address.searchParams.set('monitorCommands', 'true');
    const server = await openSpecimenServer(address.href);
    const host = specimenHost(server);
    let installation: Installation | null = null;
    const requests: string[] = [];
    try {
      const { _id } = await server.Specimens.create({ title: 'a specimen' });
      // Sweeps read the same collection at any time, but not this specimen.
      server.mongoose.connection.getClient().on('commandStarted', ({ command, commandName }) => {
        const isOfSpecimens = command[commandName] === server.Specimens.collection.collectionName;
        if (isOfSpecimens && JSON.stringify([command.filter, command.updates]).includes(String(_id))) requests.push(commandName);
      });
      // Hooks ask which items a change concerns, and read these.
      const traces = async () => {
        requests.length = 0;
        await server.Specimens.updateOne({ _id }, { title: 'changed' });
        return { asked: requests.join(), layers: server.app.router.stack.length };
      };
      const states: unknown[] = [];
      for (let times = 0; times < 3; times += 1) {
        installation = await install(host, { env: {} });
        states.push(await traces());
        await installation.close();
        expect(await traces()).toEqual({ asked: 'update', layers: 1 });
      }
      expect(states).toEqual(Array(3).fill({ asked: 'find,update,find', layers: 1 }));
    } finally {
      await installation?.close();
      await closeSpecimenServer(server);
      await database.stop();
    }
  });

  it('lets a host be installed on again', async () => {
    const specimens = await startSpecimens();
    try {
      await specimens.installation.close();
      const secondInstallation = await install(specimens.host);
      expect((await specimens.get('/item/test/tiles')).status).toBe(200);
      const { specimen } = await specimens.addSpecimen('slide.tif', await plainSlide({ r: 9, g: 9, b: 9 }));
      expect((await specimens.get(`/item/${specimen}/tiles`)).status).toBe(200);
      await secondInstallation.close();
    } finally {
      await specimens.close();
    }
  });
});

describe('a host without events', () => {
  it('is followed by hooks on its models', async () => {
    const specimens = await startSpecimens();
    const { server, host } = specimens;
    try {
      const { specimen, blob } = await specimens.addSpecimen('slide.tif', await plainSlide({ r: 220, g: 20, b: 20 }));
      const path = `/item/${specimen}/tiles`;
      expect((await specimens.get(path)).status).toBe(200);

      // The cabinet is closed with a query. This takes effect at once, although the verdict was cached.
      const { cabinet } = (await server.Specimens.findById(specimen).lean())!;
      await server.Cabinets.updateOne({ _id: cabinet }, { open: false });
      expect((await specimens.get(path)).status).toBe(401);
      await server.Cabinets.findOneAndUpdate({ _id: cabinet }, { open: true });
      expect((await specimens.get(path)).status).toBe(200);

      // When the file is removed, the large image is also removed.
      const file = (await server.Blobs.findById(blob).lean()) as never;
      await host.files.remove(file);
      const answer = await specimens.get(path);
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { message: 'No large image file in this item.', type: 'rest' },
      ]);

      // An item is not served from the moment when it is removed.
      await server.Specimens.deleteOne({ _id: specimen });
      expect(await (await specimens.get(path)).json()).toMatchObject({ message: `Invalid item id (${specimen}).` });
    } finally {
      await specimens.close();
    }
  });
});

describe('a host with remote files', () => {
  it('serves tiles through ranged reads of no more than the tiles need', async () => {
    const reads: { start: number; end: number }[] = [];
    const specimens = await startSpecimens((host) => ({
      files: {
        ...host.files,
        localPath: async () => null,
        read: (file, range, options) => {
          reads.push(range);
          return host.files.read(file, range, options);
        },
      },
    }));
    try {
      const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 };
      const slide = await sharp({ create: { width: 1500, height: 1000, channels: 3, background: 'black', noise } })
        .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'deflate' })
        .toBuffer();
      const { specimen } = await specimens.addSpecimen('slide.tif', slide);
      expect(await (await specimens.get(`/item/${specimen}/tiles`)).json()).toMatchObject({ sizeX: 1500, sizeY: 1000 });
      reads.length = 0;
      const tile = await specimens.get(`/item/${specimen}/tiles/zxy/3/3/2?encoding=PNG`);
      expect(tile.status).toBe(200);
      const { data } = await sharp(Buffer.from(await tile.arrayBuffer()))
        .removeAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      const cut = { left: 768, top: 512, width: 256, height: 256 };
      const expected = await sharp(slide).extract(cut).raw().toBuffer();
      expect(data.equals(expected)).toBe(true);
      const read = reads.reduce((sum, { start, end }) => sum + end - start, 0);
      expect(read).toBeGreaterThan(0);
      expect(read).toBeLessThan(slide.length / 10);
      for (const { start, end } of reads) expect([start >= 0, end <= slide.length, end > start]).toEqual([true, true, true]);

      // A format that is decoded as a whole.
      const { specimen: png } = await specimens.addSpecimen('small.png', await sharp(slide).extract(cut).png().toBuffer());
      expect((await specimens.get(`/item/${png}/tiles/zxy/0/0/0`)).status).toBe(200);
    } finally {
      await specimens.close();
    }
  });
});

describe('the indexes of an installation', () => {
  const undo: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  it('are built one at a time on each collection, because some databases refuse more', async () => {
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    const address = new URL(database.uri);
    address.searchParams.set('monitorCommands', 'true');
    const server = await openSpecimenServer(address.href);
    undo.push(() => closeSpecimenServer(server));
    // This is the default of hosts.
    Object.assign(server.mongoose.connection.config, { autoIndex: true });
    const building = new Map<string, number>();
    const built = new Map<number, string>();
    const together: string[] = [];
    const client = server.mongoose.connection.getClient();
    client.on('commandStarted', ({ command, commandName, requestId }) => {
      if (commandName !== 'createIndexes') return;
      const collection = String(command.createIndexes);
      built.set(requestId, collection);
      const count = (building.get(collection) ?? 0) + 1;
      building.set(collection, count);
      if (count > 1) together.push(collection);
    });
    const end = ({ requestId }: { requestId: number }) => {
      const collection = built.get(requestId);
      if (collection !== undefined) building.set(collection, building.get(collection)! - 1);
    };
    client.on('commandSucceeded', end).on('commandFailed', end);
    const installation = await install(specimenHost(server), { env: {} });
    undo.push(() => installation.close());
    expect(new Set(built.values()).size).toBeGreaterThan(8);
    expect(together).toEqual([]);
  });
});
