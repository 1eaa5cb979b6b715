/** A file that is made while it is sent: a head, pieces, and a tail. */
export interface StreamedFile {
  head: Buffer;
  /** Number of pieces. */
  pieceCount: number;
  /**
   * The start of a piece, in bytes after the head. For `pieceCount`, it is the total length of the pieces. `null` if the starts are
   * unknown in advance.
   */
  startOf: ((piece: number) => number) | null;
  makePiece(piece: number): Promise<Uint8Array>;
  tail: Buffer;
}

/** Length of the file in bytes; `null` if it is unknown in advance. */
export function sizeOf({ head, startOf, pieceCount, tail }: StreamedFile): number | null {
  return startOf === null ? null : head.length + startOf(pieceCount) + tail.length;
}

/** The bytes of a file from `start` to `end`, not including `end`. One piece is made ahead. */
export async function* streamBytes(file: StreamedFile, start = 0, end = Infinity): AsyncGenerator<Uint8Array> {
  const { head, pieceCount, startOf, tail } = file;
  if (start < head.length) yield head.subarray(start, Math.min(end, head.length));
  const firstPiece = startOf === null || start <= head.length ? 0 : findPieceAt(startOf, pieceCount, start - head.length);
  let pieceStart = head.length + (startOf?.(firstPiece) ?? 0);
  let nextPiece: Promise<Uint8Array> | null = firstPiece < pieceCount && pieceStart < end ? file.makePiece(firstPiece) : null;
  try {
    for (let pieceIndex = firstPiece; nextPiece !== null; pieceIndex++) {
      const bytes: Uint8Array = await nextPiece;
      nextPiece = null;
      const pieceEnd = pieceStart + bytes.length;
      if (pieceIndex + 1 < pieceCount && pieceEnd < end) {
        nextPiece = file.makePiece(pieceIndex + 1);
        // The next piece may fail while the bytes of this one are still being sent.
        nextPiece.catch(() => undefined);
      }
      if (pieceEnd > start) yield bytes.subarray(Math.max(0, start - pieceStart), Math.min(bytes.length, end - pieceStart));
      pieceStart = pieceEnd;
    }
  } finally {
    nextPiece?.catch(() => undefined);
  }
  if (pieceStart < end && tail.length > 0)
    yield tail.subarray(Math.max(0, start - pieceStart), Math.min(tail.length, end - pieceStart));
}

/** The last piece that starts at or before a position, in bytes after the head. */
function findPieceAt(startOf: (piece: number) => number, pieceCount: number, position: number): number {
  let [low, high] = [0, pieceCount];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startOf(middle) > position) high = middle;
    else low = middle + 1;
  }
  return Math.max(0, low - 1);
}
