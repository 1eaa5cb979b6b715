import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { checkedPrefix, InvalidError, setPublicAddress } from '../../larger-host.js';
import type { HostContext } from '../context.js';

/** Reads the setting `core.server_root`: an address such as `https://host/images`, without a trailing slash; empty for none. */
export function parseServerRoot(value: unknown): string {
  const text = typeof value === 'string' ? value.trim().replace(/(?<!\/)\/+$/, '') : value;
  if (text === '') return text;
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '' && !/[?#]/.test(String(text));
  if (!isPlain || !/^https?:$/.test(url.protocol) || checkedPrefix(url.pathname) === null) {
    throw new InvalidError('The value must be the address of the server, such as https://host/images, or empty.', 'value');
  }
  return `${url.origin}${checkedPrefix(url.pathname)}`;
}

/**
 * The address without the prefix, which a proxy may not have removed; `null` for the prefix alone, which needs a slash after it.
 */
function withoutPrefix(url: string, prefix: string): string | null {
  if (prefix === '' || !url.startsWith(prefix)) return url;
  const rest = url.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return null;
  return rest.startsWith('/') ? rest : url;
}

/**
 * Makes addresses in responses begin with the setting `core.server_root`, and serves its path whether or not a proxy removes it from
 * requests.
 */
export function underServerRoot(context: HostContext): RequestHandler {
  return (request, response, next) => {
    void serverRoot(context).then((root) => {
      if (root === null) return next();
      const url = withoutPrefix(request.url, root.prefix);
      if (url === null) return response.redirect(308, `${root.prefix}/${request.url.slice(root.prefix.length)}`);
      request.url = url;
      // A trusted proxy knows better which of several addresses the client has used.
      if (request.headers['x-forwarded-prefix'] === undefined || !isFromTrusted(request)) setPublicAddress(request, root);
      return next();
    }, next);
  };
}

/** The address in `core.server_root`; `null` if there is none. */
async function serverRoot(context: HostContext): Promise<{ origin: string; prefix: string } | null> {
  const text = await context.setting('core.server_root');
  // Values from earlier releases may not be addresses.
  if (!URL.canParse(text)) return null;
  const { origin, pathname } = new URL(text);
  return { origin, prefix: checkedPrefix(pathname) ?? '' };
}

function isFromTrusted(request: IncomingMessage & { app: { get(name: string): unknown } }): boolean {
  const trusts = request.app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean;
  return trusts(request.socket.remoteAddress, 0);
}
