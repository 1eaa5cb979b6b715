import { S3ServiceException } from '@aws-sdk/client-s3';
import { LargeImageError, NotFoundError } from '../errors.js';

const retryAfterSeconds = 10;
/** Error codes of stores that refuse the credentials. */
const refusalCodes = new Set(['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken']);

/** Reports that an object was replaced by a different object with the same key. */
export class ReplacedObjectError extends LargeImageError {
  constructor(name: string, options: { cause?: unknown } = {}) {
    super('unavailable', `${name} was replaced in its bucket while it was read. Try again.`, {
      ...options,
      retryAfterSeconds: 1,
    });
  }
}

/** HTTP status of an error response of the store; `null` if there was no response. */
export function statusOf(error: unknown): number | null {
  return error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? null) : null;
}

/** Why a bucket cannot be used, as a sentence for its operator. */
export function reasonOf(error: unknown, bucket: string): string {
  const name = error instanceof Error ? error.name : '';
  const status = statusOf(error);
  if (name === 'CredentialsProviderError') {
    return 'there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE';
  }
  if (name === 'NoSuchBucket') return `there is no bucket ${bucket}`;
  if (name === 'InvalidAccessKeyId') return 'the store does not know the access key';
  if (name === 'SignatureDoesNotMatch') return 'the secret access key is wrong';
  if (name === 'ExpiredToken' || name === 'InvalidToken') return 'the credentials have expired or are not valid';
  if (name === 'PermanentRedirect' || status === 301) return `the bucket ${bucket} is in another region; set AWS_REGION`;
  if (status === 403 || refusalCodes.has(name)) return `these credentials have no permission for this in the bucket ${bucket}`;
  if (status === 404) return `there is no bucket ${bucket}, or it does not contain this object`;
  if (error instanceof Error && error.message.includes('Region is missing')) return 'there is no region; set AWS_REGION';
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string'
    ? `the store cannot be reached (${code})`
    : `the store cannot be used (${error instanceof Error ? error.message || name : String(error)})`;
}

/**
 * The error for a client that reads bytes: 404 if the bytes no longer exist, otherwise 503. The original error is the `cause`.
 *
 * @param name of the file.
 */
export function asLargeImageError(error: unknown, name: string): LargeImageError {
  if (error instanceof LargeImageError) return error;
  const status = statusOf(error);
  if (status === 412 || status === 416) return new ReplacedObjectError(name, { cause: error });
  if (status === 404) return new NotFoundError(`The bytes of ${name} no longer exist.`);
  const text =
    status === 403
      ? 'The store with the files refuses access. The operator of the server must check its credentials.'
      : 'The store with the files cannot be reached at the moment. Try again later.';
  return new LargeImageError('unavailable', text, { cause: error, retryAfterSeconds });
}

/** Whether the same request may succeed in a moment. */
export function isTransient(error: unknown): boolean {
  const status = statusOf(error);
  return status === null ? !(error instanceof LargeImageError) : status >= 500 || status === 429;
}
