import type { RequestHandler } from 'express';

/** Serves `//api//v1/…` as `/api/v1/…`: clients are given addresses of servers, and of roots, that end in a slash. */
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
    // The root alone, or what goes on below it or with a query.
    if (at > apiRoot.length && ['/', '?', undefined].includes(url[at])) request.url = apiRoot + url.slice(at);
    next();
  };
}
