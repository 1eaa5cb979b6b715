import { expect, it } from 'vitest';
import { hostsOf, withDatabaseName, withoutCredentials } from '../../../src/reference-host/database/uri.js';

it.each([
  ['mongodb://a:27017', 'mongodb://a:27017/new'],
  ['mongodb://a:27017/', 'mongodb://a:27017/new'],
  ['mongodb://a,b:2/old?replicaSet=rs', 'mongodb://a,b:2/new?replicaSet=rs'],
  ['mongodb+srv://a.example/old', 'mongodb+srv://a.example/new'],
  // The user is still authenticated in the former database.
  ['mongodb://u:p@a/old', 'mongodb://u:p@a/new?authSource=old'],
  ['mongodb://u:p@a', 'mongodb://u:p@a/new?authSource=admin'],
  ['mongodb://u:p@a/old?authSource=users', 'mongodb://u:p@a/new?authSource=users'],
])('%s gets another database name', (uri, expected) => {
  expect(withDatabaseName(uri, 'new')).toBe(expected);
});

it('keeps an existing name on request', () => {
  expect(withDatabaseName('mongodb://u:p@a/old', 'new', 'keep')).toBe('mongodb://u:p@a/old');
  expect(withDatabaseName('mongodb://a/?x=1', 'new', 'keep')).toBe('mongodb://a/new?x=1');
});

it('names the hosts without user and password', () => {
  expect(hostsOf('mongodb://u:p@a:1,b:2/x')).toBe('a:1,b:2');
  expect(hostsOf('postgres://a')).toBeNull();
  expect(withoutCredentials('cannot parse "mongodb://u:p@q@a/x"')).toBe('cannot parse "mongodb://a/x"');
});
