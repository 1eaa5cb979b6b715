import { setTimeout as delay } from 'node:timers/promises';
import { isCollision } from './outage.js';

const duplicateKey = 11000;

/** Whether a unique index has refused a write. Where several writes were refused, all of them must have been refused by unique indexes. */
export function isDuplicateKey(error: unknown): boolean {
  const { code, writeErrors } = error as { code?: unknown; writeErrors?: unknown };
  const errors = (Array.isArray(writeErrors) ? writeErrors : [error]) as { code?: unknown }[];
  return code === duplicateKey && errors.every((each) => each.code === duplicateKey);
}

/** Writes of one statement. When the database refuses one of them, it has written nothing. */
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

/** How often a write is tried. With each refusal another write succeeds, so this suffices for many writers of one document. */
const attempts = 20;
const longestPauseMs = 50;

type Write = (...args: unknown[]) => Promise<unknown>;

const repeating = new WeakSet<object>();

/**
 * Makes a collection of Mongoose repeat single writes that the database refuses because they collided with others. MongoDB repeats them by itself;
 * servers that store in PostgreSQL end one of two writes that wait for each other, such as two of the same key, with `deadlock detected`. A write that
 * is refused 20 times fails with that error. Writes of many documents are not repeated, because some of them may have been done.
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

/** Repeats a write as long as it is refused because it collided with another one. The write must be such that it may be done twice. */
export async function untilAccepted<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (attempt === attempts || !isCollision(error)) throw error;
      await delay(Math.random() * longestPauseMs);
    }
  }
}
