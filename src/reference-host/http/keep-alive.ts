/** Longer than proxies and clients keep idle connections, so that none is closed here while a request is on its way. */
export const keepAliveMs = 65_000;
