import { setTimeout as delay } from 'node:timers/promises';
import { isCollision } from './outage.js';

const duplicateKeyCode = 11000;

/** Whether a unique index has refused a write. If several writes were refused, unique indexes must have refused all of them. */
export function isDuplicateKey(error: unknown): boolean {
  const { code, writeErrors } = error as { code?: unknown; writeErrors?: unknown };
  const errors = (Array.isArray(writeErrors) ? writeErrors : [error]) as { code?: unknown }[];
  return code === duplicateKeyCode && errors.every((each) => each.code === duplicateKeyCode);
}

/** Methods that write with one statement. If the database refuses it, nothing was written. */
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
 * Makes a Mongoose collection repeat single writes that the database refuses because they collided with others. MongoDB repeats
 * them itself. If two writes wait for each other, such as two of the same key, servers that store in PostgreSQL refuse one of them
 * (`deadlock detected`). A write that is refused 20 times fails with that error. `insertMany` and `bulkWrite` are not
 * repeated, because some of their documents may have been written.
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

/** Repeats a write while it is refused because it collided with another one. The write must be idempotent. */
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
