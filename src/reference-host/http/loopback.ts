import { isIP } from 'node:net';

/** Whether an address, or the name `localhost`, can be reached only from this machine. */
export function isLoopback(address: string): boolean {
  if (address === 'localhost') return true;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1';
}
