/** Length in bytes, and number, of the pieces of memory. When all are lent, new memory is allocated. */
const bytes = 2 ** 20;
const pieces = 4;

const free: Uint8Array[] = [];
let createdPieces = 0;

/**
 * Lends memory for bytes of a file that are not needed after the work, such as compressed bytes. If memory were allocated for each
 * piece, the garbage collector would run some ten times a second, which takes a quarter of the time of reading tiles.
 */
export async function withReadMemory<Result>(work: (into: Uint8Array | undefined) => Promise<Result>): Promise<Result> {
  let into = free.pop();
  if (into === undefined && createdPieces < pieces) {
    into = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
    createdPieces += 1;
  }
  try {
    return await work(into);
  } finally {
    if (into !== undefined) free.push(into);
  }
}
