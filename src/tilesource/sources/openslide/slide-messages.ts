/** A request to a process that runs OpenSlide. */
export type SlideRequest =
  | { kind: 'open'; path: string }
  | { kind: 'region'; path: string; left: number; top: number; level: number; width: number; height: number }
  | { kind: 'associated'; path: string; name: string; width: number; height: number }
  /** A request without a response. */
  | { kind: 'close'; path: string };

/** Data of a slide as reported by OpenSlide. */
export interface SlideDescription {
  version: string;
  levels: { width: number; height: number; downsample: number }[];
  properties: Record<string, string>;
  /** Sizes of the associated images by their names. */
  associated: Record<string, { width: number; height: number }>;
}

/** The results of the requests by their kind. */
export interface SlideResults {
  open: SlideDescription;
  /** Red, green and blue of each pixel. Pixels that were not scanned have the background color of the slide. */
  region: Uint8Array;
  associated: Uint8Array;
}

/** The response of a process: a result, or the error message of OpenSlide. */
export type SlideAnswer = { kind: 'done'; result: SlideResults[keyof SlideResults] } | { kind: 'failed'; reason: string };
