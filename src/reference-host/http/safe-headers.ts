import type { NextFunction, Request, Response } from 'express';

const headers = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Addresses may hold tokens.
  'Referrer-Policy': 'no-referrer',
};

/** What every answer has, also those that no route gives: nothing is guessed, framed, or told to other sites. */
export function safeHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.set(headers);
  next();
}
