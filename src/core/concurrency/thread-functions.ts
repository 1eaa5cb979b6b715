/** Functions that threads run, by their names. What they take and give is copied. */
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
