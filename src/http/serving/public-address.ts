import type { IncomingMessage } from 'node:http';

/** The address under which clients reach a server. */
export interface PublicAddress {
  /** Scheme, host and port: `https://host`. */
  origin: string;
  /** Path of the server there, without a trailing slash: `/images`; empty if it is the whole host. */
  prefix: string;
}

/** The members of an Express request that are used here. */
type ExpressRequest = IncomingMessage & { app?: { get(name: string): unknown } };

/** Segments of unreserved and harmless characters, so that the prefix can be written into addresses, headers and pages. */
const segmentPattern = /^[\w.~!$*+:@%-]+$/;
const maxPrefixLength = 256;

const addresses = new WeakMap<IncomingMessage, PublicAddress>();

/**
 * Sets the address under which the client of a request reaches the server, if the host knows it. Addresses in responses begin with
 * it. Without it, they begin with the origin of the request, and with the header `X-Forwarded-Prefix` of a proxy that Express
 * trusts.
 */
export function setPublicAddress(request: IncomingMessage, address: PublicAddress): void {
  addresses.set(request, address);
}

/** The address that the host has set, if any. */
export function publicAddressOf(request: IncomingMessage): PublicAddress | undefined {
  return addresses.get(request);
}

/** The path under which a trusted proxy serves this server; otherwise empty. */
export function prefixOf(request: ExpressRequest): string {
  const cached = addresses.get(request);
  if (cached !== undefined) return cached.prefix;
  const sent = request.headers['x-forwarded-prefix'];
  if (typeof sent !== 'string') return '';
  const isTrustedProxy = request.app?.get('trust proxy fn');
  if (typeof isTrustedProxy !== 'function' || isTrustedProxy(request.socket.remoteAddress, 0) !== true) return '';
  return checkedPrefix(sent) ?? '';
}

/** A prefix without trailing slashes; `null` for an invalid text. */
export function checkedPrefix(text: string): string | null {
  const prefix = text.trim().replace(/(?<!\/)\/+$/, '');
  if (prefix === '' || prefix === '/') return '';
  if (prefix.length > maxPrefixLength) return null;
  const [textBeforeSlash, ...segments] = prefix.split('/');
  const segmentsAreValid = segments.every((segment) => segmentPattern.test(segment) && segment !== '.' && segment !== '..');
  return textBeforeSlash === '' && segmentsAreValid ? prefix : null;
}
