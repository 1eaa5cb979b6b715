import type { NextFunction, Request, Response } from 'express';

const headers = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Addresses may contain tokens.
  'Referrer-Policy': 'no-referrer',
};

/** Adds to every answer, including those outside of routes, that browsers must not guess its type, show it in frames or tell its address to other sites. */
export function safeHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.set(headers);
  next();
}
