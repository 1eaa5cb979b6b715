import { setTimeout as delay } from 'node:timers/promises';
import { isCollision } from './outage.js';

const duplicateKeyCode = 11000;

/** Whether an error says that unique indexes have refused a write. If several writes were refused, this must be true for all. */
export function isDuplicateKey(error: unknown): boolean {
  const { code, writeErrors } = error as { code?: unknown; writeErrors?: unknown };
  const errors = (Array.isArray(writeErrors) ? writeErrors : [error]) as { code?: unknown }[];
  return code === duplicateKeyCode && errors.every((writeError) => writeError.code === duplicateKeyCode);
}

/** Methods that write with one statement. If the database refuses the statement, nothing was written. */
const singleWriteMethods = [
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

/**
 * Maximum number of attempts for a write. Each refusal means that another write has succeeded, so this suffices for many writers of
 * one document.
 */
const maxAttempts = 20;
const maxPauseMs = 50;

type Write = (...args: unknown[]) => Promise<unknown>;

const repeatingCollections = new WeakSet<object>();

/**
 * Makes a Mongoose collection repeat single writes that the database refuses because they collided with other writes. MongoDB
 * itself repeats such writes. But if two writes wait for each other, such as two writes of the same key, servers that store in
 * PostgreSQL refuse one of them (`deadlock detected`). A write that is refused {@link maxAttempts} times fails with the last
 * refusal. `insertMany` and `bulkWrite` are not repeated, because some of their documents may have been written.
 */
export function repeatCollisions(collection: { readonly [Name in (typeof singleWriteMethods)[number]]: unknown }): void {
  if (repeatingCollections.has(collection)) return;
  repeatingCollections.add(collection);
  const writes = collection as { [Name in (typeof singleWriteMethods)[number]]: Write };
  for (const name of singleWriteMethods) {
    const writeOnce = writes[name].bind(collection);
    writes[name] = (...args) => repeatUntilAccepted(() => writeOnce(...args));
  }
}

/** Repeats a write as long as the database refuses it because of a collision with another write. The write must be idempotent. */
export async function repeatUntilAccepted<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (attempt === maxAttempts || !isCollision(error)) throw error;
      await delay(Math.random() * maxPauseMs);
    }
  }
}
