/**
 * Ignores the signals that end processes, because the parent ends this process. A terminal (Ctrl-C) and systemd send signals to all
 * processes at once. If a child ended first, work that the parent hands back when it stops would look as if it had failed.
 */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}
