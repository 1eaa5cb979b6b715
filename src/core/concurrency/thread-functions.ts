import { move, transferableSymbol, valueSymbol } from 'piscina';

/** Functions that run in threads, by name. Arguments and results are copied, except the bytes marked by {@link transferBytes}. */
export type ThreadFunctions = Readonly<Record<string, (input: never) => unknown>>;

/** A call of a thread function, as sent to the thread. */
export interface ThreadCall {
  name: string;
  input: unknown;
}

/** Makes the default export of a thread's program, which Piscina calls for each call that is sent to the thread. */
export function createCallHandler(functions: ThreadFunctions): (call: ThreadCall) => unknown {
  // The pool sends the input that matches the name.
  return ({ name, input }) => functions[name]!(input as never);
}

/**
 * Marks a result so that its bytes are transferred instead of copied, because copying many bytes would block the event loop. The bytes
 * must fill their buffer.
 */
export function transferBytes<Result extends object>(result: Result, bytes: Uint8Array): Result {
  // The pool unwraps this value.
  const wrapped: unknown = move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: result });
  return wrapped as Result;
}
