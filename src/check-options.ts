import { inspect } from 'node:util';
import { queueNames, type QueueLimits } from './core/concurrency/queues.js';
import { InvalidHostError, isObject, refuse } from './core/host/check-host.js';
import type { InstallOptions } from './installation.js';
import { definitionFault } from './tilesource/registry/definition-fault.js';

/** The values of an option, in words and as a check. */
interface Rule {
  allowed: string;
  accepts: (value: unknown) => boolean;
}

const isAtLeast = (value: unknown, minimum: number) => typeof value === 'number' && value >= minimum;
const wholeNumber = (minimum: number): Rule => ({
  allowed: `a whole number of at least ${minimum}`,
  accepts: (value) => Number.isSafeInteger(value) && isAtLeast(value, minimum),
});
const text: Rule = { allowed: 'a text', accepts: (value) => typeof value === 'string' };
const object: Rule = { allowed: 'an object', accepts: isObject };
const cacheBackends: readonly unknown[] = ['memory', 'redis', 'none'];

function areQueueLimits(limits: unknown): boolean {
  if (!isObject(limits)) return false;
  const { running = 1, waiting = 0 } = limits as Partial<QueueLimits>;
  return isAtLeast(running, 1) && isAtLeast(waiting, 0);
}

const rules: Readonly<Record<keyof InstallOptions, Rule>> = {
  tileSources: { allowed: 'a list of tile sources', accepts: Array.isArray },
  cacheBackend: { allowed: "'memory', 'redis' or 'none'", accepts: (value) => cacheBackends.includes(value) },
  tileCache: object,
  redisUrl: text,
  tileCacheBytes: wholeNumber(0),
  maxOpenSources: wholeNumber(0),
  maxOpenSourceBytes: wholeNumber(0),
  remoteBytes: wholeNumber(0),
  annotationCleanupMs: { allowed: 'a number of at least 0', accepts: (value) => isAtLeast(value, 0) },
  queues: {
    allowed: `{ running, waiting } for some of ${queueNames.join(', ')}, with running of at least 1 and waiting of at least 0`,
    accepts: (value) =>
      isObject(value) && Object.entries(value).every(([name, limits]) => queueNames.includes(name) && areQueueLimits(limits)),
  },
  collectionPrefix: text,
  metrics: object,
  processes: wholeNumber(1),
  configFile: text,
  env: object,
};

/**
 * Checks the options of `install`. Unknown names are refused, because a mistyped option would have no effect.
 *
 * @throws InvalidHostError
 */
export function checkOptions(options: InstallOptions): void {
  if (typeof options !== 'object' || options === null)
    refuse('the second argument', 'is not an object', 'Give options, or nothing.');
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) refuse(`the option ${name}`, 'is unknown', `Known are ${Object.keys(rules).join(', ')}.`);
    const { allowed, accepts } = rules[name as keyof InstallOptions];
    if (value !== undefined && !accepts(value))
      refuse(`the option ${name}`, `is ${inspect(value, { breakLength: Infinity })}`, `Give ${allowed}.`);
  }
  checkTileSources(options.tileSources ?? []);
}

function checkTileSources(sources: NonNullable<InstallOptions['tileSources']>): void {
  const names = new Set<string>();
  for (const source of sources) {
    const fault = definitionFault(source);
    if (fault !== null) throw new InvalidHostError(`install: ${fault}`);
    if (names.has(source.name))
      refuse('the option tileSources', `has two sources with the name ${source.name}`, 'Remove or rename one of them.');
    names.add(source.name);
  }
}
