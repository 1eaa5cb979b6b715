import { LargeImageError } from '../../errors.js';
import { isFullDiskCode } from '../full-disk.js';

/** Names of the errors that the driver and Mongoose throw while the database cannot be reached. */
const outageNames: ReadonlySet<string> = new Set([
  'MongoClientClosedError',
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoNotConnectedError',
  'MongoOperationTimeoutError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoServerSelectionError',
  'MongoTopologyClosedError',
  'MongoWaitQueueTimeoutError',
  'MongooseServerSelectionError',
  'PoolClearedOnNetworkError',
]);

const serverErrorNames: ReadonlySet<string> = new Set(['MongoServerError', 'MongoBulkWriteError', 'MongoWriteConcernError']);

/** Codes of a server that is shutting down, is no longer primary, or was restarted and does not know the cursor. */
const notServingCodes: ReadonlySet<unknown> = new Set([43, 91, 189, 10107, 11600, 11602, 13435, 13436]);

/** If a database server that stores its data in PostgreSQL cannot reach PostgreSQL, it reports this code and one of these texts. */
const internalErrorCode = 1;
const postgresUnreachablePattern =
  /\bunexpected EOF$|\bthe database system is (?:starting up|shutting down|in recovery mode|not yet accepting)|\bterminating connection due to\b|\bfailed to connect to `/;

/**
 * Message of Node if the driver writes to a closed connection before it notices the closing. The driver passes this error on
 * unchanged.
 */
const closedConnectionMessage = 'This socket has been ended by the other party';

/**
 * Codes of errors that the driver passes on unchanged when the connection to the database ends while the driver waits to write
 * more. Causes of an error are not checked for these codes, because other libraries wrap errors with the same codes.
 */
const lostConnectionCodes: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return lostConnectionCodes.has(code) && (syscall === 'read' || syscall === 'write');
}

const diskMessageByCode: Readonly<Record<string, string>> = {
  EROFS: 'The server cannot write its files: their disk is read-only.',
  EACCES: 'The server has no permission to read or write one of its files.',
  EPERM: 'The server has no permission to read or write one of its files.',
  EIO: 'The disk of the server failed.',
  EMFILE: 'The server has too many files open.',
  ENFILE: 'The server has too many files open.',
};

/** Code of a server that refuses a write because the write collided with another write (write conflict). */
const collisionCodes: ReadonlySet<unknown> = new Set([112]);

/** Code of a server that stopped an operation because the operation took longer than allowed. */
const timeLimitCode = 50;
/** How long the database can work on a list whose conditions or order a client has chosen, in milliseconds. */
export const listTimeoutMs = 10_000;

/** Maximum number of causes of an error to follow. */
const maxCauses = 10;

/**
 * Makes the error for a response if something failed because a part of the server is temporarily unavailable: `storage-full` if the
 * disk is full; `unavailable` if the disk cannot be used, or the database cannot be reached, is too slow, or has too many writers
 * of one document.
 *
 * @returns `null` for every other error.
 */
export function outageErrorOf(error: unknown): LargeImageError | null {
  if (isDatabaseOutage(error)) {
    return new LargeImageError('unavailable', 'The database cannot be reached at the moment. Try again later.', { cause: error });
  }
  if (isCollision(error)) {
    return new LargeImageError('unavailable', 'Others are changing the same data. Try again later.', { cause: error });
  }
  if (isTooSlow(error)) {
    return new LargeImageError('unavailable', 'The database takes too long for this. Request less, or try again later.', {
      cause: error,
    });
  }
  for (const cause of causesOf(error)) {
    const { code } = cause as { code?: unknown };
    if (isFullDiskCode(code)) {
      return new LargeImageError('storage-full', 'There is no space left on the disk of the server.', { cause: error });
    }
    const message = typeof code === 'string' ? diskMessageByCode[code] : undefined;
    if (message !== undefined) return new LargeImageError('unavailable', message, { cause: error });
  }
  return null;
}

/** Whether something failed because the database cannot be reached, and may work later. */
export function isDatabaseOutage(error: unknown): boolean {
  if (isLostConnection(error)) return true;
  return causesOf(error).some((cause) => {
    if (outageNames.has(cause.name)) return true;
    if ((cause as { code?: unknown }).code === 'EPIPE' && cause.message === closedConnectionMessage) return true;
    if (cause.name === 'MongooseError') return /buffering timed out/.test(cause.message);
    if (!serverErrorNames.has(cause.name)) return false;
    const { code } = cause as { code?: unknown };
    return notServingCodes.has(code) || (code === internalErrorCode && postgresUnreachablePattern.test(cause.message));
  });
}

/**
 * Whether the database refused a write because the write collided with another write. Then nothing was written, and the write can
 * be repeated.
 */
export function isCollision(error: unknown): boolean {
  return causesOf(error).some((cause) => {
    if (!serverErrorNames.has(cause.name)) return false;
    return collisionCodes.has((cause as { code?: unknown }).code) || /\bdeadlock detected\b/.test(cause.message);
  });
}

/** Whether the database stopped an operation because it took longer than allowed. */
function isTooSlow(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => serverErrorNames.has(cause.name) && (cause as { code?: unknown }).code === timeLimitCode,
  );
}

/** Whether something failed for a temporary reason, because the database is down or busy, so that repeating it may work. */
export function isTemporary(error: unknown): boolean {
  return isDatabaseOutage(error) || isCollision(error) || isTooSlow(error);
}

/** Lists an error, its cause, the cause of that, and so on. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let cause = error; chain.length < maxCauses && cause instanceof Error; cause = causeOf(cause)) chain.push(cause);
  return chain;
}

/**
 * The cause of an error. If a write of several documents loses its connection, the driver throws a server error whose
 * `errorResponse` is the cause.
 */
function causeOf(error: Error): unknown {
  return error.cause ?? (error as { errorResponse?: unknown }).errorResponse;
}
