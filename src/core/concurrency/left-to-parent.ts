/**
 * Leaves signals to the process that started this one, which ends it. A terminal (Ctrl-C) and systemd send them to all processes at once, and
 * work that is given back when a server stops would look as if it had failed.
 */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}
