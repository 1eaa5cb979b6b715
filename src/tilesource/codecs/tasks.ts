import type { SampleOrder } from './sample-order.js';

/** What the threads decode: encoded bytes, and what the file says of them that the bytes do not. */
export type CodecTask =
  /** Zstandard of at most `size` bytes. */
  | { codec: 'zstd'; bytes: Uint8Array; size: number; order?: SampleOrder }
  /** A JPEG 2000 code stream or file; `reduce` leaves out that many of the finest resolutions. */
  | { codec: 'jpeg2000'; bytes: Uint8Array; reduce?: number }
  /** A JPEG XR file. */
  | { codec: 'jpegxr'; bytes: Uint8Array }
  /** A JPEG-LS picture. */
  | { codec: 'jpegls'; bytes: Uint8Array }
  /** A code stream of high-throughput JPEG 2000. */
  | { codec: 'htj2k'; bytes: Uint8Array };

/** Shape of a decoded picture, as the decoder gives it. */
export interface FrameInfo {
  width: number;
  height: number;
  bitsPerSample: number;
  componentCount: number;
  isSigned: boolean;
  isFloat?: boolean;
}

/** What a thread answers. */
export interface Decoded {
  /** `null` for plain compression of bytes. */
  info: FrameInfo | null;
  data: Uint8Array<ArrayBuffer>;
}

/** Names of the codecs for messages. */
export const codecNames: Readonly<Record<CodecTask['codec'], string>> = {
  zstd: 'Zstandard',
  jpeg2000: 'JPEG 2000',
  jpegxr: 'JPEG XR',
  jpegls: 'JPEG-LS',
  htj2k: 'HTJ2K',
};
