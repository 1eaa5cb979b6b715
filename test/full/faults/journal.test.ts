/** Writes of several steps: what happens to them during recovery, and when they take long. */
import { EventEmitter, once } from 'node:events';
import { Types } from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { harmlessLogger } from '../../../src/larger-host.js';
import type { Models } from '../../../src/reference-host/models.js';
import { Journal } from '../../../src/reference-host/upkeep/journal.js';
import type { ProcessLife } from '../../../src/reference-host/upkeep/process-life.js';
import type { Undertaking } from '../../../src/reference-host/upkeep/undertaking.model.js';
import { startHostModels } from '../../support/hosts/host-models.js';
import { until } from '../../support/run/until.js';

let started: Awaited<ReturnType<typeof startHostModels>>;
let models: Models;

beforeAll(async () => {
  started = await startHostModels();
  ({ models } = started);
});
afterAll(async () => {
  await started?.stop();
});

it('the journal does not undo a write that completed while an older one was recovered', async () => {
  const older: Undertaking = { kind: 'making', type: 'item', id: new Types.ObjectId() };
  const mine: Undertaking = { kind: 'making', type: 'item', id: new Types.ObjectId() };
  await models.undertaking.collection.insertOne({ ...older, _id: new Types.ObjectId(), process: 'dead' });
  const signals = new EventEmitter();
  const [started, mayEnd] = [once(signals, 'begun'), once(signals, 'may end')];
  const recovered: unknown[] = [];
  // The journal uses only these members of a process life.
  const life = { id: 'mine', isAlive: async (id: string) => id === 'mine' } as ProcessLife;
  const journal = new Journal({
    models,
    life,
    logger: harmlessLogger(undefined),
    recover: async (undertaking) => {
      recovered.push((undertaking as typeof mine).id);
      signals.emit('may end');
      await undertaken;
    },
  });
  const undertaken = journal.undertake(mine, async () => {
    signals.emit('begun');
    await mayEnd;
  });
  await started;
  expect(await journal.recoverInterrupted()).toBe(1);
  expect(recovered).toEqual([older.id]);
  expect(await models.undertaking.countDocuments()).toBe(0);
});

it('the journal returns an unfinished copy before clients time out, and undoes it when it fails later', async () => {
  // The journal uses only these members of a process life.
  const life = { id: 'mine', isAlive: async () => true } as unknown as ProcessLife;
  const recovered: unknown[] = [];
  const recover = async (undertaking: Undertaking) => void recovered.push(undertaking.kind);
  const journal = new Journal({ models, life, logger: harmlessLogger(undefined), maxWaitMs: 0, recover });
  const signals = new EventEmitter();
  const copying: Undertaking = { kind: 'making', type: 'folder', id: new Types.ObjectId() };
  const partial: { copy: string | null } = { copy: null };
  for (const end of ['done', 'failed']) {
    partial.copy = null;
    const mayEnd = once(signals, 'may end');
    const work = async () => {
      partial.copy = 'begun';
      await mayEnd;
      if (end === 'failed') throw new Error('The disk is away.');
      return 'complete';
    };
    expect(await journal.undertakeOrReturnPartialResult(copying, work, () => partial.copy)).toBe('begun');
    expect(await models.undertaking.countDocuments()).toBe(1);
    signals.emit('may end');
    await until('it has ended', async () => (await models.undertaking.countDocuments()) === 0);
    expect(recovered).toEqual(end === 'failed' ? ['making'] : []);
  }
});

it('the journal answers before clients time out while a write that can be resumed continues', async () => {
  // The journal uses only these members of a process life.
  const life = { id: 'mine', isAlive: async () => true } as unknown as ProcessLife;
  const recovered: unknown[] = [];
  const recover = async (undertaking: Undertaking) => void recovered.push(undertaking.kind);
  const journal = new Journal({ models, life, logger: harmlessLogger(undefined), maxWaitMs: 0, recover });
  const signals = new EventEmitter();
  const emptying: Undertaking = { kind: 'emptying', id: new Types.ObjectId(), before: new Date() };
  for (const end of ['done', 'failed']) {
    const mayEnd = once(signals, 'may end');
    await journal.undertakeWithoutUndo(emptying, async () => {
      await mayEnd;
      if (end === 'failed') throw new Error('The disk is away.');
    });
    // The write is recorded, and not mistaken for an interrupted one.
    expect(await models.undertaking.countDocuments()).toBe(1);
    expect(await journal.recoverInterrupted()).toBe(0);
    signals.emit('may end');
    await until('nothing is noted', async () => (await models.undertaking.countDocuments()) === 0);
  }
  expect(recovered).toEqual(['emptying']);
});
