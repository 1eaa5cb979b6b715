import type { RequestHandler } from 'express';

/** Serves `//api/v1/…` as `/api/v1/…`: clients are given addresses of servers that end in a slash. */
export function withoutLeadingSlashes(apiRoot: string): RequestHandler {
  return (request, _response, next) => {
    let slashes = 0;
    while (request.url[slashes] === '/') slashes += 1;
    const path = request.url.slice(slashes - 1);
    // The root alone, or what goes on below it or with a query.
    if (slashes > 1 && path.startsWith(apiRoot) && ['/', '?', undefined].includes(path[apiRoot.length])) request.url = path;
    next();
  };
}
