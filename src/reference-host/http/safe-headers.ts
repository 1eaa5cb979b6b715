import type { NextFunction, Request, Response } from 'express';

const headers = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Addresses may contain tokens.
  'Referrer-Policy': 'no-referrer',
};

/**
 * Adds headers to every response, also outside routes. Browsers then do not guess the type of the response, show it in frames, or send its
 * address to other sites.
 */
export function addSafeHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.set(headers);
  next();
}
