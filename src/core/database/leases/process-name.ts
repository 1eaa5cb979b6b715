import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Parts of a process name: machine or container, process number, and start time, because process numbers are reused. */
const namePattern = /^([0-9a-f]{12})-(\d+)-(\d+)(?![0-9a-z-])/;

let ownName: string | null = null;

/**
 * Names this process in leases and temporary files, so that other processes can find out whether it has ended: see {@link
 * hasEnded}.
 */
export function processName(): string {
  ownName ??= `${processNumberSpace()}-${process.pid}-${readProcessStart(process.pid)?.time ?? 0}`;
  return ownName;
}

/**
 * Whether the process named at the beginning of a text has certainly ended. False if that cannot be determined, as for processes of
 * another machine or container; these are judged by how long they have been silent.
 */
export function hasEnded(text: string): boolean {
  const [, numberSpace, number, time] = namePattern.exec(text) ?? [];
  if (numberSpace === undefined || numberSpace !== namePattern.exec(processName())![1]) return false;
  const pid = Number(number);
  if (!isRunning(pid)) return true;
  // A running process whose start time cannot be read counts as the same process.
  const start = readProcessStart(pid);
  return start !== null && (start.isDead || start.time !== Number(time));
}

/** Names the machine or container in which process numbers are unique. */
function processNumberSpace(): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);
  if (process.platform !== 'linux') return hash(hostname());
  try {
    // Containers may share the name of their machine, but each has a separate process namespace.
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
    // The process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * When a process started, in ticks of the system's clock, and whether it is a zombie, which has ended but was not yet noticed by
 * its parent. `null` if this is unknown.
 */
function readProcessStart(pid: number): { time: number; isDead: boolean } | null {
  if (process.platform !== 'linux') return null;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, in parentheses, can contain any characters.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { time: Number(fields[19]), isDead: fields[0] === 'Z' || fields[0] === 'X' };
  } catch {
    return null;
  }
}
