import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import { startTestDatabase } from '../../support/hosts/database.js';

/** The commands about annotations that the database received. */
interface DatabaseWork {
  commands: string[];
  /** Bytes of everything that was inserted or changed. */
  bytes: number;
}

describe('changing one element', () => {
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let at: Annotated;
  beforeAll(async () => {
    database = await startTestDatabase();
    const uri = new URL(database.uri);
    uri.searchParams.set('monitorCommands', 'true');
    at = await startAnnotated({ mongoUri: uri.href });
    await at.host.swept();
  });
  afterAll(async () => {
    await at?.close();
    await database?.stop();
  });

  async function watched(work: () => Promise<unknown>): Promise<DatabaseWork> {
    const databaseWork: DatabaseWork = { commands: [], bytes: 0 };
    const client = at.host.host.host.models.item.db.getClient();
    const recordCommand = ({ commandName, command }: { commandName: string; command: Record<string, unknown> }) => {
      const collection = String(command[commandName]);
      if (!/annotation|element/.test(collection)) return;
      databaseWork.commands.push(`${commandName} ${collection}`);
      const { documents, updates, update } = command;
      databaseWork.bytes += mongoose.mongo.BSON.calculateObjectSize({ documents, updates, update });
    };
    client.on('commandStarted', recordCommand);
    await work();
    client.off('commandStarted', recordCommand);
    return databaseWork;
  }

  /**
   * The cost of the first change near an element, and the lowest cost of several further ones, because on a busy machine caches
   * of some seconds may have expired.
   */
  async function costs(count: number): Promise<[first: DatabaseWork, next: DatabaseWork]> {
    const elements = Array.from({ length: count }, (_, n) => point(n % 1000, { id: elementId(n + 1) }));
    const { _id } = await at.annotate({ name: `${count}`, elements });
    const change = (n: number) => () =>
      at.admin.ok('PATCH', `/annotation/${_id}/elements/${elementId(n)}`, { json: { lineWidth: 9 } });
    const first = await watched(change(500));
    let next = await watched(change(500));
    for (let n = 0; n < 4; n += 1) {
      const repeated = await watched(change(500));
      if (repeated.commands.length < next.commands.length) next = repeated;
    }
    return [first, next];
  }

  it('needs the same number of queries, and writes about the same amount, for an annotation of any size', async () => {
    const [small, smallNext] = await costs(2000);
    const [large, largeNext] = await costs(40_000);
    // With twenty times the elements, the cost must not grow with their number.
    expect(large.commands.length).toBeLessThan(2 * small.commands.length);
    expect(largeNext.commands.length).toBeLessThanOrEqual(smallNext.commands.length);
    // The directory of a window, which holds up to 65 536 elements, is all that grows.
    expect(large.bytes).toBeLessThan(3 * small.bytes);
    expect(large.bytes).toBeLessThan(40_000);
    // Data that was just written is not read again, neither pack nor directory nor index.
    expect(largeNext.commands.filter((command) => /^find .*element(pack|window|index)/.test(command))).toEqual([]);
    expect(largeNext.commands.length).toBeLessThanOrEqual(9);
  });
});
