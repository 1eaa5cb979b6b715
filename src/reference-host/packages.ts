import { installCommand, isInstalled } from '../optional-packages.js';

/** Optional peer dependencies of the package. A server that only installs the plugin does not need them. */
const requiredPackages = ['@agendajs/mongo-backend', '@node-rs/argon2', 'client-zip', 'rate-limiter-flexible'];

/** Thrown if packages of the reference host are missing. The message names them and the command that installs them. */
export class MissingPackagesError extends Error {
  override name = 'MissingPackagesError';
}

/** @throws MissingPackagesError that names all missing packages of the reference host. */
export function requirePackages(): void {
  const missingPackages = requiredPackages.filter((name) => !isInstalled(name));
  if (missingPackages.length === 0) return;
  throw new MissingPackagesError(
    `express-large-image/reference-host needs packages that are not installed: ${missingPackages.join(', ')}. ` +
      `Install them: ${installCommand(missingPackages)}`,
  );
}
