const events = ['uncaughtException', 'unhandledRejection'] as const;

/**
 * Loads a library and removes the listeners that it adds to the process. Libraries made by Emscripten add listeners each time they
 * are loaded. These listeners would keep the library's memory forever, and change how the process handles errors of other code.
 */
export async function loadWithoutListeners<T>(load: () => Promise<T>): Promise<T> {
  const listenersBefore = events.map((event) => new Set(process.rawListeners(event)));
  try {
    return await load();
  } finally {
    for (const [index, event] of events.entries()) {
      for (const listener of process.rawListeners(event)) {
        if (listenersBefore[index]?.has(listener) === false) process.off(event, listener as () => void);
      }
    }
  }
}
