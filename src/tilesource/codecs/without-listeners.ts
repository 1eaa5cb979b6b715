const events = ['uncaughtException', 'unhandledRejection'] as const;

/**
 * Loads a library without the listeners that it adds to the process. What Emscripten makes adds some with each load. They would keep its memory
 * for ever, and change what an error of others does.
 */
export async function withoutListeners<T>(load: () => Promise<T>): Promise<T> {
  const before = events.map((event) => new Set(process.rawListeners(event)));
  try {
    return await load();
  } finally {
    for (const [index, event] of events.entries()) {
      for (const listener of process.rawListeners(event)) {
        if (before[index]?.has(listener) === false) process.off(event, listener as () => void);
      }
    }
  }
}
