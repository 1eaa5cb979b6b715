import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { checkedPrefix, InvalidError, setPublicAddress } from '../../larger-host.js';
import type { HostContext } from '../context.js';

/** Parses the setting `core.server_root`. @returns an address such as `https://host/images`, without a trailing slash; empty for none. */
export function parseServerRoot(value: unknown): string {
  const address = typeof value === 'string' ? value.trim().replace(/(?<!\/)\/+$/, '') : value;
  if (address === '') return address;
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : null;
  const isPlain =
    url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '' && !/[?#]/.test(String(address));
  if (!isPlain || !/^https?:$/.test(url.protocol) || checkedPrefix(url.pathname) === null) {
    throw new InvalidError('The value must be the address of the server, such as https://host/images, or empty.', 'value');
  }
  return `${url.origin}${checkedPrefix(url.pathname)}`;
}

/**
 * Removes the prefix from the address of a request, if a proxy has not removed it. Returns `null` for the prefix alone, which needs a slash
 * after it.
 */
function removePrefix(url: string, prefix: string): string | null {
  if (prefix === '' || !url.startsWith(prefix)) return url;
  const pathAfterPrefix = url.slice(prefix.length);
  if (pathAfterPrefix === '' || pathAfterPrefix.startsWith('?')) return null;
  return pathAfterPrefix.startsWith('/') ? pathAfterPrefix : url;
}

/**
 * Creates middleware that makes addresses in responses begin with the setting `core.server_root`. Requests may include the path of this
 * address, or a proxy may have removed it.
 */
export function createServerRootMiddleware(context: HostContext): RequestHandler {
  return (request, response, next) => {
    void readServerRoot(context).then((root) => {
      if (root === null) return next();
      const url = removePrefix(request.url, root.prefix);
      if (url === null) return response.redirect(308, `${root.prefix}/${request.url.slice(root.prefix.length)}`);
      request.url = url;
      // A trusted proxy knows better which of several addresses the client has used.
      if (request.headers['x-forwarded-prefix'] === undefined || !isFromTrustedProxy(request)) setPublicAddress(request, root);
      return next();
    }, next);
  };
}

/** The address in `core.server_root`; `null` if there is none. */
async function readServerRoot(context: HostContext): Promise<{ origin: string; prefix: string } | null> {
  const address = await context.setting('core.server_root');
  // Values from earlier releases may not be addresses.
  if (!URL.canParse(address)) return null;
  const { origin, pathname } = new URL(address);
  return { origin, prefix: checkedPrefix(pathname) ?? '' };
}

/** Whether the connection comes from a proxy that the setting `trust proxy` of Express trusts. */
function isFromTrustedProxy(request: IncomingMessage & { app: { get(name: string): unknown } }): boolean {
  const isTrusted = request.app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean;
  return isTrusted(request.socket.remoteAddress, 0);
}
