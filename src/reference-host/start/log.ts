import { writeSync } from 'node:fs';
import { pino, stdTimeFunctions } from 'pino';
import type { HostLogger } from '../../index.js';

/**
 * Writes a line to an open file immediately, because the last line before a crash is the most important. A line that cannot be written, for
 * example because the disk is full or nobody reads the pipe, is dropped. Later lines are still tried.
 */
function writeLine(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  try {
    for (let writtenBytes = 0; writtenBytes < bytes.length;) writtenBytes += writeSync(descriptor, bytes, writtenBytes);
  } catch {
    // The error cannot be reported anywhere.
  }
}

/** The log on standard error: one JSON object per line, each with the members of `commonMembers`. Lines that cannot be written are dropped. */
export function openLog(level: string, commonMembers: Readonly<Record<string, unknown>> | null = null): HostLogger {
  return pino(
    { level, base: commonMembers, timestamp: stdTimeFunctions.isoTime },
    { write: (line) => writeLine(process.stderr.fd, line) },
  );
}

/** Keeps the process running if its output cannot be written. Without a listener, the error would end the process. */
export function ignoreOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}
