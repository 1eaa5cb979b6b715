import { isIPv6 } from 'node:net';

/**
 * The network by which a client is identified: an IPv4 address, or the first 64 bits of an IPv6 address, because a client can choose the
 * other bits freely.
 */
export function networkOf(address: string): string {
  const addressWithoutZone = address.split('%', 1)[0]!;
  const mappedIPv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(addressWithoutZone);
  if (mappedIPv4 !== null) return mappedIPv4[1]!;
  if (!isIPv6(addressWithoutZone)) return addressWithoutZone;
  const [before = '', after = ''] = addressWithoutZone.split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after === '' ? [] : after.split(':');
  const zeros = addressWithoutZone.includes('::') ? Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0') : [];
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
