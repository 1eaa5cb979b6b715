import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Where process numbers mean the same, number of the process, and when it began: a number is used again. */
const namePattern = /^([0-9a-f]{12})-(\d+)-(\d+)(?![0-9a-z-])/;

let own: string | null = null;

/** Names this process in leases and temporary files, so that others can tell when it has ended: see {@link hasEnded}. */
export function processName(): string {
  own ??= `${numberSpace()}-${process.pid}-${beginOf(process.pid)?.time ?? 0}`;
  return own;
}

/**
 * Whether the process that this text begins with the name of has certainly ended. False where that cannot be known from here, as for processes
 * of another machine or container: their silence must tell.
 */
export function hasEnded(text: string): boolean {
  const [, space, number, time] = namePattern.exec(text) ?? [];
  if (space === undefined || space !== namePattern.exec(processName())![1]) return false;
  const pid = Number(number);
  if (!isRunning(pid)) return true;
  // What may not be looked at is taken to be the same process.
  const begin = beginOf(pid);
  return begin !== null && (begin.isDead || begin.time !== Number(time));
}

/** Names the machine or container whose processes have numbers of their own. */
function numberSpace(): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);
  if (process.platform !== 'linux') return hash(hostname());
  try {
    // Containers may share the name of their machine, and never a space of process numbers.
    return hash(`${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')}${readlinkSync('/proc/self/ns/pid')}`);
  } catch {
    return hash(randomUUID());
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process may not be asked, but it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** When a process began, in ticks of the system's clock, and whether it waits only for its parent to notice its end. */
function beginOf(pid: number): { time: number; isDead: boolean } | null {
  if (process.platform !== 'linux') return null;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, in parentheses, may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { time: Number(fields[19]), isDead: fields[0] === 'Z' || fields[0] === 'X' };
  } catch {
    return null;
  }
}
