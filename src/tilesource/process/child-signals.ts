/**
 * Ignores the signals that end processes. A terminal (Ctrl-C) and systemd send these signals to all processes at once. If this
 * process ended before its parent, the parent would count the work as failed, although it only returns the work to the queue when
 * it stops. The parent ends this process itself.
 */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}
