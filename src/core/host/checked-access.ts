import { inspect } from 'node:util';
import type { HostAccess, HostLogger } from '../../host.js';

/** A value that a function of the host has returned, for a message. */
export function describeReturned(value: unknown): string {
  // The contents of objects stay out of the log: they may be documents with secrets.
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) {
    const name = value.constructor?.name ?? 'Object';
    return name === 'Object' ? 'an object' : `an object of the class ${name}`;
  }
  return typeof value === 'function' ? 'a function' : inspect(value, { maxStringLength: 64 });
}

/** The host's permissions. What contradicts {@link HostAccess} grants nothing, and the log says why. */
export function checkedAccess(access: HostAccess, logger: HostLogger): HostAccess {
  const deny = (name: string, value: unknown, expected: string): void => {
    const err = new TypeError(`access.${name} returned ${describeReturned(value)} instead of ${expected}. This denies access.`);
    logger.error({ err }, 'Host:Access:Invalid');
  };
  return {
    async level(caller, subject) {
      const level = await access.level(caller, subject);
      if (level === 0 || level === 1 || level === 2 || level === -1) return level;
      deny('level', level, '-1, 0, 1 or 2');
      return -1;
    },
    async filter(caller, type, level) {
      const filter = await access.filter(caller, type, level);
      if (typeof filter === 'object' && filter !== null && !Array.isArray(filter)) return filter;
      throw new TypeError(`access.filter returned ${describeReturned(filter)} instead of a MongoDB filter such as {}.`);
    },
    ...(access.list !== undefined && { list: (folder) => access.list!(folder) }),
    ...(access.flags !== undefined && {
      async flags(caller, folder) {
        const flags = await access.flags!(caller, folder);
        if (Array.isArray(flags)) return flags;
        deny('flags', flags, 'a list of names');
        return [];
      },
    }),
  };
}
