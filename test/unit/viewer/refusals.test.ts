import { describe, expect, it } from 'vitest';
import { toApiError } from '../../../src/viewer/api.js';

describe('what the page says of a refusal', () => {
  it.each([413, 429, 431, 502, 503, 504, 507])('is a sentence for people where a proxy answers %i', (status) => {
    const { message } = toApiError(status, '<html><h1>Refused</h1></html>');
    expect(message).toMatch(/^[A-Z].*\.$/);
    expect(message).not.toMatch(/\d/);
  });

  it('names the status where nothing else is known, and is the server’s own sentence where there is one', () => {
    expect(toApiError(418, '').message).toBe('The server answered with status 418.');
    expect(toApiError(507, '{"message":"The quota of 2 MB is used up."}').message).toBe('The quota of 2 MB is used up.');
  });
});
