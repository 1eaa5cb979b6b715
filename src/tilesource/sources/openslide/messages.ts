/** What a process of OpenSlide is asked. */
export type SlideRequest =
  | { kind: 'open'; path: string }
  | { kind: 'region'; path: string; left: number; top: number; level: number; width: number; height: number }
  | { kind: 'associated'; path: string; name: string; width: number; height: number }
  /** It is not answered. */
  | { kind: 'close'; path: string };

/** What OpenSlide says of a slide. */
export interface SlideFacts {
  version: string;
  levels: { width: number; height: number; downsample: number }[];
  properties: Record<string, string>;
  associated: Record<string, { width: number; height: number }>;
}

/** The results of the requests. */
export interface SlideResults {
  open: SlideFacts;
  /** Red, green and blue of each pixel; what the slide does not cover has its background colour. */
  region: Uint8Array;
  associated: Uint8Array;
}

/** What a process answers: `failed` with what OpenSlide says. */
export type SlideAnswer = { kind: 'done'; result: SlideResults[keyof SlideResults] } | { kind: 'failed'; reason: string };
