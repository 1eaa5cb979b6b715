import type { IncomingMessage } from 'node:http';

/** The address under which clients reach a server. */
export interface PublicAddress {
  /** Scheme, host and port, such as `https://host`. */
  origin: string;
  /** Path of the server on this origin, without a trailing slash, such as `/images`. Empty if the server answers all paths. */
  prefix: string;
}

/** The members of an Express request that are used here. */
type ExpressRequest = IncomingMessage & { app?: { get(name: string): unknown } };

/** Matches path segments whose characters can be written into addresses, headers and pages without escaping. */
const segmentPattern = /^[\w.~!$*+:@%-]+$/;
const maxPrefixLength = 256;

const addresses = new WeakMap<IncomingMessage, PublicAddress>();

/**
 * Sets the address under which the client of a request reaches the server, for hosts that know this address. Addresses in responses
 * begin with it. By default, they begin with the origin of the request, followed by the header `X-Forwarded-Prefix` if it comes
 * from a proxy that Express trusts.
 */
export function setPublicAddress(request: IncomingMessage, address: PublicAddress): void {
  addresses.set(request, address);
}

/** The address that the host has set, if any. */
export function publicAddressOf(request: IncomingMessage): PublicAddress | undefined {
  return addresses.get(request);
}

/** The path under which clients reach this server, as set by the host or by a trusted proxy. Empty if neither has set a path. */
export function prefixOf(request: ExpressRequest): string {
  const publicAddress = addresses.get(request);
  if (publicAddress !== undefined) return publicAddress.prefix;
  const forwardedPrefix = request.headers['x-forwarded-prefix'];
  if (typeof forwardedPrefix !== 'string') return '';
  const isTrustedProxy = request.app?.get('trust proxy fn');
  if (typeof isTrustedProxy !== 'function' || isTrustedProxy(request.socket.remoteAddress, 0) !== true) return '';
  return checkedPrefix(forwardedPrefix) ?? '';
}

/** Returns a prefix without its trailing slashes, or `null` if the text is not a valid prefix. */
export function checkedPrefix(text: string): string | null {
  const prefix = text.trim().replace(/(?<!\/)\/+$/, '');
  if (prefix === '' || prefix === '/') return '';
  if (prefix.length > maxPrefixLength) return null;
  const [textBeforeSlash, ...segments] = prefix.split('/');
  const segmentsAreValid = segments.every((segment) => segmentPattern.test(segment) && segment !== '.' && segment !== '..');
  return textBeforeSlash === '' && segmentsAreValid ? prefix : null;
}
