/** The `type` member of an error reply; existing clients branch on it. */
export type ErrorType = 'rest' | 'validation' | 'access' | 'internal';

/**
 * Maps each error code to its HTTP status and reply type. For anonymous callers, `access-denied` and `login-required` always answer
 * 401 (`http/serving/respond.ts`).
 */
export const errorReplies = {
  'malformed-request': { status: 400, type: 'rest' },
  'bad-parameter': { status: 400, type: 'rest' },
  'bad-value': { status: 400, type: 'rest' },
  invalid: { status: 400, type: 'validation' },
  'unknown-id': { status: 400, type: 'rest' },
  'tile-source': { status: 400, type: 'rest' },
  'corrupt-tile': { status: 422, type: 'rest' },
  'no-large-image': { status: 400, type: 'rest' },
  'login-required': { status: 401, type: 'access' },
  'access-denied': { status: 403, type: 'access' },
  forbidden: { status: 403, type: 'rest' },
  'not-found': { status: 404, type: 'rest' },
  'not-acceptable': { status: 406, type: 'rest' },
  'tile-outside': { status: 404, type: 'rest' },
  'request-timeout': { status: 408, type: 'rest' },
  conflict: { status: 409, type: 'rest' },
  'precondition-failed': { status: 412, type: 'rest' },
  'too-large': { status: 413, type: 'rest' },
  'unsupported-encoding': { status: 415, type: 'rest' },
  'unsatisfiable-range': { status: 416, type: 'rest' },
  'too-often': { status: 429, type: 'rest' },
  'headers-too-large': { status: 431, type: 'rest' },
  internal: { status: 500, type: 'internal' },
  'not-implemented': { status: 501, type: 'rest' },
  unavailable: { status: 503, type: 'rest' },
  busy: { status: 503, type: 'rest' },
  'storage-full': { status: 507, type: 'rest' },
} as const satisfies Record<string, { status: number; type: ErrorType }>;

/** Stable names of errors: the member `code` of their replies, and the header `Large-Image-Error`. */
export type ErrorCode = keyof typeof errorReplies;

/** Base of every error raised on purpose: its message is written for the caller and safe to send. */
export class LargeImageError extends Error {
  readonly code: ErrorCode;
  /** Further members of the reply body, e.g. `{ field: 'name' }`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** When to try again, in seconds; sent as `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown>; retryAfterSeconds?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds === undefined ? null : Math.max(1, Math.ceil(options.retryAfterSeconds));
  }
}

/** The body of an error reply. Existing clients know `message` and `type`; `code` never changes, while sentences may. */
export function errorBody({ code, message, details }: Pick<LargeImageError, 'code' | 'message' | 'details'>) {
  return { message, type: errorReplies[code].type, code, ...details };
}

/** A request parameter or body that cannot be understood. */
export class BadParameterError extends LargeImageError {
  constructor(message: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super('bad-parameter', message, options);
  }
}

/** A value that was understood but is not allowed: encoding, units, color, size. The message gets the prefix `Value Error: `. */
export class BadValueError extends LargeImageError {
  constructor(detail: string, options: { cause?: unknown } = {}) {
    super('bad-value', `Value Error: ${detail}`, options);
  }
}

/** A document breaks a rule of its model. `field` is the name of the invalid field, if there is one. */
export class InvalidError extends LargeImageError {
  constructor(message: string, field?: string, options: { cause?: unknown } = {}) {
    super('invalid', message, { ...options, details: field === undefined ? {} : { field } });
  }
}

/** A well-formed id that belongs to no document, e.g. `Invalid item id (0123…).` */
export class UnknownIdError extends LargeImageError {
  constructor(model: string, id: string) {
    super('unknown-id', `Invalid ${model} id (${id}).`);
  }
}

/** The caller has no permission. Answers 401 if the caller is anonymous, otherwise 403. */
export class AccessDeniedError extends LargeImageError {
  constructor(message: string, options: { details?: Record<string, unknown> } = {}) {
    super('access-denied', message, options);
  }
}

const levelNames = { 0: 'Read', 1: 'Write', 2: 'Admin' } as const;

/** The caller's level of permission on a document is too low. */
export class LevelDeniedError extends AccessDeniedError {
  /**
   * @param level the level that the request needs
   * @param subject the document, such as `folder 0123…`
   * @param userId the caller's id; `null` if the caller is anonymous
   */
  constructor(
    readonly level: 0 | 1 | 2,
    subject: string,
    userId: string | null | undefined,
  ) {
    super(`${levelNames[level]} access denied for ${subject} (user ${userId ?? 'None'}).`, { details: { level } });
  }
}

/** The thing named in the path does not exist, and the route answers 404 for that. */
export class NotFoundError extends LargeImageError {
  constructor(message: string) {
    super('not-found', message);
  }
}

interface TileSourceErrorOptions {
  cause?: unknown;
  /** The problem with the file, as a sentence that does not name the file. Default: the message. */
  reason?: string;
  code?: 'tile-source' | 'corrupt-tile';
  /** Further members of the reply. */
  details?: Record<string, unknown>;
}

/** A tile source cannot read a file, or can no longer read it, because the file is corrupt, truncated or unsupported. */
export class TileSourceError extends LargeImageError {
  /** The problem with the file, as a sentence that does not name the file. */
  readonly reason: string;

  constructor(message: string, { reason = message, code = 'tile-source', ...options }: TileSourceErrorOptions = {}) {
    super(code, message, options);
    this.reason = reason;
  }
}

/**
 * Bytes could not be read, because a disk, a bucket or another program failed. This says nothing about the image: the next try may
 * succeed.
 */
export class FailedReadError extends TileSourceError {}

/** The position of a tile in an image. */
interface TilePosition {
  level: number;
  x: number;
  y: number;
  frame: number;
}

/** The bytes of a tile were read but cannot be decoded. The other tiles of the image may be fine. */
export class CorruptTileError extends TileSourceError {
  readonly tile: Readonly<TilePosition>;

  /** @param cause says what is wrong with the bytes. */
  constructor({ level, x, y, frame }: TilePosition, cause: TileSourceError) {
    const tile = { level, x, y, frame };
    const name = `x=${x}, y=${y} of level ${level}${frame > 0 ? `, frame ${frame}` : ''}`;
    super(`The tile ${name} is corrupt: ${cause.message}`, {
      code: 'corrupt-tile',
      reason: cause.reason,
      cause,
      details: { tile },
    });
    this.tile = tile;
  }
}

/** The file has a format that the source does not read. If another source knows the format, that source's error is reported. */
export class OtherFormatError extends TileSourceError {}

/** Maximum number of names of missing files in an error. */
const maxMissingNames = 1000;

/** An image of several files, some of which are missing. */
export class MissingPartsError extends TileSourceError {
  /** Paths of the first missing files, relative to the folder of the file that refers to them. */
  readonly missing: readonly string[];

  constructor(message: string, missing: readonly string[], options: TileSourceErrorOptions = {}) {
    super(message, options);
    this.missing = missing.slice(0, maxMissingNames);
  }
}

/** A tile, level or frame that the image does not have. */
export class TileOutsideError extends LargeImageError {
  constructor(message: string) {
    super('tile-outside', message);
  }
}

/** The item has no large image, or its large image is still being made. */
export class NoLargeImageError extends LargeImageError {
  constructor(message = 'No large image file in this item.') {
    super('no-large-image', message);
  }
}

/** The caller has exhausted a limit on how often something can be done: 429. */
export class TooOftenError extends LargeImageError {
  constructor(message: string, retryAfterSeconds: number) {
    super('too-often', message, { retryAfterSeconds });
  }
}

/** A range of bytes beyond the content: 416, with the length in `Content-Range`. */
export class UnsatisfiableRangeError extends LargeImageError {
  constructor(readonly size: number) {
    super('unsatisfiable-range', `The requested range is outside of the content, which has ${size} bytes.`);
  }
}

/** A queue is full; the same request may succeed in a moment: 503. */
export class BusyError extends LargeImageError {
  constructor(message: string, retryAfterSeconds: number) {
    super('busy', message, { retryAfterSeconds });
  }
}
