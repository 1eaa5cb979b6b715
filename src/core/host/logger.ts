import type { HostLogger } from '../../host.js';
import { requestId } from '../request-id.js';

/**
 * The host's logger as the plugin uses it: one that throws, or returns a promise that fails, takes neither a request nor the process with it.
 * What it could not write is lost. Silent where the host has none. Lines that are written for a request name it (`requestId`).
 */
export function harmlessLogger(logger: HostLogger | undefined): HostLogger {
  const harmless = (level: keyof HostLogger) => (fields: object, event: string) => {
    try {
      // Some hosts write asynchronously, which the type does not forbid.
      const id = requestId();
      const written: unknown = logger?.[level](id === undefined ? fields : { ...fields, requestId: id }, event);
      if (written instanceof Promise) written.catch(() => undefined);
    } catch {
      // There is no place left to say it.
    }
  };
  return { debug: harmless('debug'), info: harmless('info'), warn: harmless('warn'), error: harmless('error') };
}
