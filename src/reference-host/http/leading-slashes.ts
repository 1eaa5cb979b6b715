import type { RequestHandler } from 'express';

/** Creates middleware that serves `//api//v1/…` as `/api/v1/…`, because some clients are configured with addresses that end with a slash. */
export function createSlashMerger(apiRoot: string): RequestHandler {
  const segments = apiRoot.split('/').slice(1);
  return (request, _response, next) => {
    const { url } = request;
    let position = 0;
    for (const segment of segments) {
      const segmentStart = position;
      while (url[position] === '/') position += 1;
      if (position === segmentStart || !url.startsWith(segment, position)) return next();
      position += segment.length;
    }
    // The root may be the whole path, or be followed by a slash or a query.
    if (position > apiRoot.length && ['/', '?', undefined].includes(url[position])) request.url = apiRoot + url.slice(position);
    next();
  };
}
