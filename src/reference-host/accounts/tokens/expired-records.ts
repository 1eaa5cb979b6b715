import type { HostContext } from '../../context.js';

const hourMs = 60 * 60 * 1000;

/**
 * Removes expired tokens, attempt counters and notifications. MongoDB does this by an index, but some other engines do not.
 *
 * @returns the number of removed documents.
 */
export async function removeExpired({ models }: HostContext): Promise<number> {
  const now = new Date();
  const removalResults = await Promise.all([
    models.token.deleteMany({ expires: { $lte: now } }),
    models.attempt.deleteMany({ expire: { $lte: now } }),
    models.notification.deleteMany({ expires: { $lte: now } }),
  ]);
  return removalResults.reduce((sum, { deletedCount }) => sum + deletedCount, 0);
}

/** Calls {@link removeExpired} immediately and every hour. Each process does this; repeating it does no harm. @returns a function that stops this */
export function startRemovingExpired(context: HostContext): () => Promise<void> {
  let lastRun = Promise.resolve();
  const remove = async () => {
    try {
      const count = await removeExpired(context);
      if (count > 0) context.logger.info({ count }, 'Accounts:Expired:Removed');
    } catch (err) {
      context.logger.warn({ err }, 'Accounts:Expired:Failed');
    }
  };
  const run = () => {
    lastRun = lastRun.then(remove);
  };
  run();
  const timer = setInterval(run, hourMs).unref();
  return async () => {
    clearInterval(timer);
    await lastRun;
  };
}
