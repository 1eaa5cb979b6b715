import { expect, it } from 'vitest';
import { matchesOrigin } from '../../../src/reference-host/http/cors.js';

it.each([
  ['https://app.example.org', 'https://app.example.org', true],
  ['https://APP.example.org', 'https://app.EXAMPLE.org', true],
  ['https://app.example.org', 'https://*.example.org', true],
  ['https://a.b.example.org', 'https://*.example.org', true],
  ['https://example.org', 'https://*.example.org', false],
  ['https://app.example.org.evil', 'https://*.example.org', false],
  ['https://appxexample.org', 'https://app.example.org', false],
  ['https://app1.example.org', 'https://app?.example.org', true],
  ['https://app.example.org', 'https://app?.example.org', false],
  ['https://app.example.org:8080', 'https://app.example.org*', true],
  ['https://app.example.org', '*://*example*', true],
  ['https://[::1]:80', 'https://[::1]:80', true],
])('the origin %s matches the entry %s: %s', (origin, entry, expected) => {
  expect(matchesOrigin(origin, entry)).toBe(expected);
});

it('finishes for an origin and an entry that are crafted to take as long as possible', () => {
  expect(matchesOrigin(`${'a'.repeat(299)}`, `${'*a'.repeat(140)}b`)).toBe(false);
  expect(matchesOrigin('a'.repeat(1_000_000), '*a*a*a*a*a*b')).toBe(false);
});
