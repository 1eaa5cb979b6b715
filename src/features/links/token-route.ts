import { required, text } from '../../http/parameters.js';

/** Fields common to all routes with the token of a link in their path. */
export const tokenRoute = {
  method: 'get',
  access: 'public',
  anyOrigin: 'always',
  errorStatus: { 'access-denied': 401 },
} as const;

/** The path parameter with the token. */
export const tokenPath = { token: required(text({ description: 'The token of a link.' })) };
