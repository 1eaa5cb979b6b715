/** Packages that only some servers need: optional peers, which are imported when a request needs them. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Whether a package is installed where this module can import it. */
export function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch (error) {
    // An installed package may have no entry for `require`, but only one for `import`.
    return (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND';
  }
}

/** The command `npm install …` that installs packages in the versions that this package supports. */
export function installCommand(names: readonly string[]): string {
  const { peerDependencies } = require('express-large-image/package.json') as { peerDependencies: Record<string, string> };
  // Below 1.0, minor versions are as incompatible as major ones, so 0.12 stays 0.12.
  const versionOf = (name: string) => /0\.\d+|\d+/.exec(peerDependencies[name] ?? '')?.[0] ?? 'latest';
  return `npm install ${names.map((name) => `${name}@${versionOf(name)}`).join(' ')}`;
}

/**
 * Says in the middle of a sentence which packages are missing, and how to install them: `the package lerc is not installed (npm
 * install lerc@4)`.
 */
export function describeMissingPackages(...names: string[]): string {
  const subject = names.length === 1 ? `package ${names[0]} is` : `packages ${names.join(' and ')} are`;
  return `the ${subject} not installed (${installCommand(names)})`;
}
