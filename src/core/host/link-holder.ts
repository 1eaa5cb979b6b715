import type { Caller } from '../../host.js';

/** The data that the holder of a link may read. */
export interface LinkLimits {
  /** The item whose image the holder may read. */
  itemId: string;
  /** Whether the holder may read the item's annotations. */
  allowsAnnotations: boolean;
  /** Whether the holder may see the label, macro and other associated images. */
  allowsAssociated: boolean;
}

/**
 * Somebody without an account who opens the page of one image by a link. Link holders have the rights of the link's creator, but
 * only to read this image. Only routes with `forLinks` accept link holders, and the permission checks on items and annotations also
 * apply `limits`.
 */
export interface LinkHolder extends Caller {
  limits: LinkLimits;
}

/** The limits of the holder of a link; `null` for all other callers. */
export function limitsOf(caller: Caller | null): LinkLimits | null {
  return (caller as Partial<LinkHolder> | null)?.limits ?? null;
}
