import { isIP } from 'node:net';

/** Whether an address, or the name `localhost`, can be reached only from this machine. */
export function isLoopback(address: string): boolean {
  if (address === 'localhost') return true;
  const addressWithoutPrefix = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(addressWithoutPrefix) === 4 ? addressWithoutPrefix.startsWith('127.') : addressWithoutPrefix === '::1';
}
