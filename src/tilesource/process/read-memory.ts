/** Length of a piece, and how many there are; who comes when all are lent takes memory of his own. */
const bytes = 2 ** 20;
const pieces = 4;

const free: Uint8Array[] = [];
let made = 0;

/**
 * Lends memory for what is read of a file and not looked at any more when the work is done, as what is inflated. New memory for each piece makes
 * the collector look through everything some ten times a second, which takes a quarter of the time of reading tiles.
 */
export async function withReadMemory<Result>(work: (into: Uint8Array | undefined) => Promise<Result>): Promise<Result> {
  let into = free.pop();
  if (into === undefined && made < pieces) {
    into = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
    made += 1;
  }
  try {
    return await work(into);
  } finally {
    if (into !== undefined) free.push(into);
  }
}
