import type { SampleOrder } from '../sample-order.js';

/** A picture of reduced resolution. */
export interface ReducedSize {
  /** Number of times that the resolution is halved. */
  halvings: number;
  /** Expected size of the reduced picture in pixels. */
  width: number;
  height: number;
}

/** Encoded bytes for the threads, and the parameters of their decoder. */
export type CodecTask =
  /** Zstandard that decodes to at most `size` bytes. */
  | { codec: 'zstd'; bytes: Uint8Array; size: number; order?: SampleOrder }
  /** PackBits that decodes to `size` bytes. */
  | { codec: 'packbits'; bytes: Uint8Array; size: number }
  /** A JPEG 2000 code stream or file, of one or three components. */
  | { codec: 'jpeg2000'; bytes: Uint8Array; reduced?: ReducedSize }
  /** A JPEG XR file. */
  | { codec: 'jpegxr'; bytes: Uint8Array }
  /** A JPEG-LS picture. */
  | { codec: 'jpegls'; bytes: Uint8Array };

/** Shape of a decoded picture, as the decoder reports it. */
export interface FrameInfo {
  width: number;
  height: number;
  bitsPerSample: number;
  componentCount: number;
  isSigned: boolean;
  isFloat?: boolean;
}

export interface DecodeResult {
  /** `null` if bytes were only decompressed. */
  info: FrameInfo | null;
  data: Uint8Array<ArrayBuffer>;
}

/** Names of the codecs for messages. */
export const codecNames: Readonly<Record<CodecTask['codec'], string>> = {
  zstd: 'Zstandard',
  packbits: 'PackBits',
  jpeg2000: 'JPEG 2000',
  jpegxr: 'JPEG XR',
  jpegls: 'JPEG-LS',
};
