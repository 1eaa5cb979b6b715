import { afterEach, describe, expect, it } from 'vitest';
import { closeSpecimenServer, openSpecimenServer, specimenHost } from '../../../examples/host-adapter.js';
import { HostEventEmitter, install, type HostEventName, type HostEventPayloads } from '../../../src/index.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { noRedis, startRedis, type TestRedis } from '../../support/hosts/redis.js';
import { until } from '../../support/run/until.js';

/** Events of a host that fails when the plugin subscribes to one of them, which is one of its last steps. */
class BrokenEvents extends HostEventEmitter {
  override on<N extends HostEventName>(name: N, listener: (payload: HostEventPayloads[N]) => void | Promise<void>): () => void {
    if (name === 'user.removed') throw new Error('No such event.');
    return super.on(name, listener);
  }
}

describe.skipIf(noRedis !== null)(`install that fails${noRedis === null ? '' : ` (skipped: ${noRedis})`}`, () => {
  const undo: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  it('closes everything that it opened, and can be tried again', async () => {
    const redis: TestRedis = await startRedis();
    undo.push(() => redis.close());
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    const server = await openSpecimenServer(database.uri);
    undo.push(() => closeSpecimenServer(server));
    const watcher = await redis.client();
    const clients = async () => ((await watcher.client('LIST')) as string).trim().split('\n').length;
    const before = await clients();
    const host = specimenHost(server);
    const options = { env: {}, cacheBackend: 'redis', redisUrl: redis.url } as const;
    const models = Object.keys(server.Specimens.db.models);

    await expect(install({ ...host, events: new BrokenEvents() }, options)).rejects.toThrow('No such event.');
    await until('its connections to Redis are gone', async () => (await clients()) === before);
    expect(server.Specimens.schema.path('largeImage')).toBeUndefined();
    expect(Object.keys(server.Specimens.db.models)).toEqual(models);

    const installation = await install(host, options);
    expect(await clients()).toBeGreaterThan(before);
    await installation.close();
    await until('its connections to Redis are gone', async () => (await clients()) === before);
    expect(Object.keys(server.Specimens.db.models)).toEqual(models);
  });
});
