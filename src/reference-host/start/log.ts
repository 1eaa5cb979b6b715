import { writeSync } from 'node:fs';
import { pino, stdTimeFunctions } from 'pino';
import type { HostLogger } from '../../index.js';

/**
 * Writes a line to an open file at once: the last one before a crash counts most. One that cannot be written, because the disk is full or
 * nobody reads any more, is dropped; those after it are written when that is possible again.
 */
function writeLine(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
  } catch {
    // There is nowhere to say so.
  }
}

/** The log on standard error, a JSON object a line, with `base` in each. It never ends the process. */
export function openLog(level: string, base: Readonly<Record<string, unknown>> | null = null): HostLogger {
  return pino({ level, base, timestamp: stdTimeFunctions.isoTime }, { write: (line) => writeLine(process.stderr.fd, line) });
}

/** Lets the process go on when what it prints cannot be written: without a listener such an error ends it. */
export function survivePrinting(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}
