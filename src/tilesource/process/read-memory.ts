const pieceBytes = 2 ** 20;
/** Maximum number of pieces of memory to lend. When all pieces are lent, callers allocate their own memory. */
const maxPieces = 4;

const freePieces: Uint8Array[] = [];
let pieceCount = 0;

/**
 * Calls `work` with memory for bytes that are not needed after the call, such as compressed bytes of a file. `memory` is
 * `undefined` if no piece is free. If memory were allocated for each read, the garbage collector would run some ten times a second,
 * which takes a quarter of the time of reading tiles.
 */
export async function lendReadMemory<Result>(work: (memory: Uint8Array | undefined) => Promise<Result>): Promise<Result> {
  let memory = freePieces.pop();
  if (memory === undefined && pieceCount < maxPieces) {
    memory = new Uint8Array(Buffer.allocUnsafeSlow(pieceBytes).buffer);
    pieceCount += 1;
  }
  try {
    return await work(memory);
  } finally {
    if (memory !== undefined) freePieces.push(memory);
  }
}
