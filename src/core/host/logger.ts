import type { HostLogger } from '../../host.js';
import { currentRequestId } from '../request-id.js';

/**
 * Wraps the host's logger. If that logger throws, or returns a promise that rejects, only the line is lost; neither the request nor
 * the process fails. If the host has no logger, nothing is logged. Lines that are logged during a request contain its id
 * (`requestId`).
 */
export function nonThrowingLogger(logger: HostLogger | undefined): HostLogger {
  const createLog = (level: keyof HostLogger) => (fields: object, event: string) => {
    try {
      const id = currentRequestId();
      // Some loggers return a promise, which the type allows.
      const written: unknown = logger?.[level](id === undefined ? fields : { ...fields, requestId: id }, event);
      if (written instanceof Promise) written.catch(() => undefined);
    } catch {
      // There is no other place to report the error.
    }
  };
  return { debug: createLog('debug'), info: createLog('info'), warn: createLog('warn'), error: createLog('error') };
}
