import type { Caller } from '../../host.js';

/** The image that the holder of a link may read, and which parts of it. */
export interface LinkLimits {
  itemId: string;
  /** Whether they may read its annotations. */
  allowsAnnotations: boolean;
  /** Whether they may see its label, macro and other associated images. */
  allowsAssociated: boolean;
}

/**
 * Somebody without an account who opens the page of one image by a link. They have the rights of the link's creator, but only to
 * read this image. Only routes that are declared for them (`forLinks`) accept them, and the checks of permissions on items and
 * annotations compare with `limits`.
 */
export interface LinkHolder extends Caller {
  limits: LinkLimits;
}

/** The limits of the holder of a link; `null` for all other callers. */
export function limitsOf(caller: Caller | null): LinkLimits | null {
  return (caller as Partial<LinkHolder> | null)?.limits ?? null;
}
