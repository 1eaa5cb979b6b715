import { setTimeout as delay } from 'node:timers/promises';
import { isCollision } from './outage.js';

const duplicateKey = 11000;

/** Whether a unique index refused a write. */
export function isDuplicateKey(error: unknown): boolean {
  return (error as { code?: unknown }).code === duplicateKey;
}

/** Writes of one statement, of which a database that refuses them has done nothing. */
const singleWrites = [
  'insertOne',
  'updateOne',
  'updateMany',
  'replaceOne',
  'deleteOne',
  'deleteMany',
  'findOneAndUpdate',
  'findOneAndReplace',
  'findOneAndDelete',
  'createIndexes',
] as const;

/** How often a write is tried. Each refusal lets another write through, so that this is for many writers of one document. */
const attempts = 20;
const longestPauseMs = 50;

type Write = (...args: unknown[]) => Promise<unknown>;

const repeating = new WeakSet<object>();

/**
 * Has a collection of Mongoose do single writes again that the database refuses because they collided with another one. MongoDB does so
 * by itself; engines on PostgreSQL end one of two writes that wait for each other, such as two of the same key, with `deadlock detected`.
 * What is still refused after 20 times fails with that error. Writes of many documents are not repeated: some of them may be done.
 */
export function repeatCollisions(collection: { readonly [Name in (typeof singleWrites)[number]]: unknown }): void {
  if (repeating.has(collection)) return;
  repeating.add(collection);
  const writes = collection as { [Name in (typeof singleWrites)[number]]: Write };
  for (const name of singleWrites) {
    const once = writes[name].bind(collection);
    writes[name] = (...args) => untilAccepted(() => once(...args));
  }
}

async function untilAccepted<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (attempt === attempts || !isCollision(error)) throw error;
      await delay(Math.random() * longestPauseMs);
    }
  }
}
