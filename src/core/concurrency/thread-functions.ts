import { move, transferableSymbol, valueSymbol } from 'piscina';

/** Functions that threads run, by their names. What they take and give is copied, but for what is {@link moved}. */
export type ThreadFunctions = Readonly<Record<string, (input: never) => unknown>>;

/** A call of one of them, as it is sent to a thread. */
export interface ThreadCall {
  name: string;
  input: unknown;
}

/** What the program of a thread exports as its default: Piscina calls that for everything which it is sent. */
export function threadFunctions(functions: ThreadFunctions): (call: ThreadCall) => unknown {
  // The pool sends the input that belongs to the name.
  return ({ name, input }) => functions[name]!(input as never);
}

/** A result of which these bytes, all that their buffer holds, are handed over without a copy: a large one would hold the event loop. */
export function moved<Result extends object>(result: Result, bytes: Uint8Array): Result {
  // The pool unwraps what is wrapped here.
  const wrapped: unknown = move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: result });
  return wrapped as Result;
}
