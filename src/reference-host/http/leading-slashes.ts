import type { RequestHandler } from 'express';

/** Serves `//api//v1/…` as `/api/v1/…`, because some clients are configured with addresses that end with a slash. */
export function withoutLeadingSlashes(apiRoot: string): RequestHandler {
  const segments = apiRoot.split('/').slice(1);
  return (request, _response, next) => {
    const { url } = request;
    let at = 0;
    for (const segment of segments) {
      const before = at;
      while (url[at] === '/') at += 1;
      if (at === before || !url.startsWith(segment, at)) return next();
      at += segment.length;
    }
    // The root may be the whole path, or be followed by a slash or a query.
    if (at > apiRoot.length && ['/', '?', undefined].includes(url[at])) request.url = apiRoot + url.slice(at);
    next();
  };
}
