import { move, transferableSymbol, valueSymbol } from 'piscina';

/** Functions that threads run, by their names. Arguments and results are copied, except those that are {@link moved}. */
export type ThreadFunctions = Readonly<Record<string, (input: never) => unknown>>;

/** A call of one of them, as it is sent to a thread. */
export interface ThreadCall {
  name: string;
  input: unknown;
}

/** Makes the default export of the program of a thread. Piscina calls it for each call that is sent to the thread. */
export function threadFunctions(functions: ThreadFunctions): (call: ThreadCall) => unknown {
  // The pool sends the input that belongs to the name.
  return ({ name, input }) => functions[name]!(input as never);
}

/** A result whose bytes are handed over without a copy, because copying many would block the event loop. The bytes must fill their buffer. */
export function moved<Result extends object>(result: Result, bytes: Uint8Array): Result {
  // The pool unwraps what is wrapped here.
  const wrapped: unknown = move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: result });
  return wrapped as Result;
}
