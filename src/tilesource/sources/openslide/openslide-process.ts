/** The program of the processes that run OpenSlide. If the library crashes, one request fails, but the server goes on. */
import { createRequire } from 'node:module';
import { leaveSignalsToParent } from '../../process/child-signals.js';
import type { SlideAnswer, SlideDescription, SlideRequest, SlideResults } from './slide-messages.js';
import { describeMissingPackages } from '../../../optional-packages.js';

const require = createRequire(import.meta.url);

/** Maximum number of slides that a process keeps open. */
const maxOpenSlides = 16;
/** File names of the library on the supported systems. */
const libraryNames = [
  'libopenslide.so.1',
  'libopenslide.so.0',
  'libopenslide.1.dylib',
  'libopenslide.0.dylib',
  'libopenslide-1.dll',
];

type Slide = object;
type NativeFunction = (...values: unknown[]) => unknown;

/** The used part of koffi, which calls functions of native libraries. */
interface Koffi {
  load(path: string): { func(prototype: string): NativeFunction };
  decode(pointer: unknown, offset: number, type: string): unknown;
}

class OpenSlideLibrary {
  readonly #koffi: Koffi;
  readonly #functionOf: (prototype: string) => NativeFunction;

  constructor() {
    try {
      this.#koffi = require('koffi') as Koffi;
    } catch {
      throw new Error(describeMissingPackages('koffi'));
    }
    const libraryPath = process.env.OPENSLIDE_LIBRARY;
    const names = libraryPath === undefined || libraryPath === '' ? libraryNames : [libraryPath];
    for (const name of names) {
      try {
        const library = this.#koffi.load(name);
        const functions = new Map<string, NativeFunction>();
        this.#functionOf = (prototype) => {
          const nativeFunction = functions.get(prototype) ?? library.func(prototype);
          functions.set(prototype, nativeFunction);
          return nativeFunction;
        };
        return;
      } catch {
        // The library has another name, or is missing; the next name is tried.
      }
    }
    throw new Error(`no OpenSlide library was found (${names.join(', ')})`);
  }

  version(): string {
    return String(this.#functionOf('const char *openslide_get_version()')());
  }

  open(path: string): Slide {
    const slide = this.#functionOf('void *openslide_open(const char *path)')(path) as Slide | null;
    if (slide === null) throw new Error('OpenSlide does not recognize the file, or files that belong to it are missing');
    try {
      this.checkState(slide);
    } catch (error) {
      this.close(slide);
      throw error;
    }
    return slide;
  }

  close(slide: Slide): void {
    this.#functionOf('void openslide_close(void *slide)')(slide);
  }

  /** Checks the state of a slide. @throws Error with the message of OpenSlide. The slide can then no longer be used. */
  checkState(slide: Slide): void {
    const error = this.#functionOf('const char *openslide_get_error(void *slide)')(slide);
    if (typeof error === 'string') throw new Error(error);
  }

  describeSlide(slide: Slide): SlideDescription {
    const count = Number(this.#functionOf('int32_t openslide_get_level_count(void *slide)')(slide));
    const readSize = this.#functionOf(
      'void openslide_get_level_dimensions(void *slide, int32_t level, _Out_ int64_t *w, _Out_ int64_t *h)',
    );
    const readDownsample = this.#functionOf('double openslide_get_level_downsample(void *slide, int32_t level)');
    const levels = Array.from({ length: count }, (_, level) => {
      const [width, height] = [[0], [0]];
      readSize(slide, level, width, height);
      return { width: Number(width[0]), height: Number(height[0]), downsample: Number(readDownsample(slide, level)) };
    });
    const readProperty = this.#functionOf('const char *openslide_get_property_value(void *slide, const char *name)');
    const names = this.#readNames(this.#functionOf('void *openslide_get_property_names(void *slide)')(slide));
    const properties = Object.fromEntries(names.map((name) => [name, String(readProperty(slide, name))]));
    const associatedNames = this.#readNames(this.#functionOf('void *openslide_get_associated_image_names(void *slide)')(slide));
    const readDimensions = this.#functionOf(
      'void openslide_get_associated_image_dimensions(void *slide, const char *name, _Out_ int64_t *w, _Out_ int64_t *h)',
    );
    const associated = Object.fromEntries(
      associatedNames.map((name) => {
        const [width, height] = [[0], [0]];
        readDimensions(slide, name, width, height);
        return [name, { width: Number(width[0]), height: Number(height[0]) }];
      }),
    );
    this.checkState(slide);
    return { version: this.version(), levels, properties, associated };
  }

  #readNames(pointer: unknown): string[] {
    const names: string[] = [];
    for (;;) {
      const name = this.#koffi.decode(pointer, names.length * 8, 'char *') as string | null;
      if (name === null || names.length >= 10_000) return names;
      names.push(name);
    }
  }

  readRegion(slide: Slide, { left, top, level, width, height }: Extract<SlideRequest, { kind: 'region' }>): Uint8Array {
    const pixels = clearedMemory(width * height * 4);
    const readPixels = this.#functionOf(
      'void openslide_read_region(void *slide, void *dest, int64_t x, int64_t y, int32_t level, int64_t w, int64_t h)',
    );
    readPixels(slide, pixels, left, top, level, width, height);
    this.checkState(slide);
    return this.#blendWithBackground(slide, pixels);
  }

  readAssociated(slide: Slide, { name, width, height }: Extract<SlideRequest, { kind: 'associated' }>): Uint8Array {
    const pixels = clearedMemory(width * height * 4);
    this.#functionOf('void openslide_read_associated_image(void *slide, const char *name, void *dest)')(slide, name, pixels);
    this.checkState(slide);
    return this.#blendWithBackground(slide, pixels);
  }

  /**
   * Converts pixels of OpenSlide to RGB on the slide's background color, in place. OpenSlide stores a pixel as blue, green, red and
   * alpha, with the colors multiplied by alpha.
   *
   * @returns the part of `pixels` that contains the result.
   */
  #blendWithBackground(slide: Slide, pixels: Uint8Array): Uint8Array {
    const readProperty = this.#functionOf('const char *openslide_get_property_value(void *slide, const char *name)');
    const color = /^[\da-f]{6}$/i.exec(String(readProperty(slide, 'openslide.background-color')))?.[0] ?? 'ffffff';
    const [backRed, backGreen, backBlue] = [0, 2, 4].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as [
      number,
      number,
      number,
    ];
    let to = 0;
    for (let from = 0; from < pixels.length; from += 4, to += 3) {
      const [blue, green, red] = [pixels[from]!, pixels[from + 1]!, pixels[from + 2]!];
      const transparency = 255 - pixels[from + 3]!;
      const blend = (sample: number, background: number): number =>
        transparency === 0 ? sample : Math.min(255, sample + Math.round((transparency * background) / 255));
      pixels[to] = blend(red, backRed);
      pixels[to + 1] = blend(green, backGreen);
      pixels[to + 2] = blend(blue, backBlue);
    }
    return pixels.subarray(0, to);
  }
}

/** Maximum number of bytes of memory that is kept for the next response. Tiles take up to 1.3 MB. */
const maxReusedBytes = 2 ** 21;
let reusedMemory = new Uint8Array(0);

/**
 * Returns zeros for the pixels of one response. Sending a response copies it, so that the next response can use the same memory. If
 * each response had new memory, some fifty megabytes of garbage would wait to be collected.
 */
function clearedMemory(length: number): Uint8Array {
  if (length > maxReusedBytes) return new Uint8Array(length);
  if (length > reusedMemory.length) reusedMemory = new Uint8Array(length);
  return reusedMemory.subarray(0, length).fill(0);
}

let library: OpenSlideLibrary | null = null;
/** The open slides by their paths, the least recently used slide first. */
const slides = new Map<string, Slide>();

function openCachedSlide(path: string, openSlideLibrary: OpenSlideLibrary): Slide {
  const slide = slides.get(path) ?? openSlideLibrary.open(path);
  slides.delete(path);
  slides.set(path, slide);
  for (const [oldestPath, oldestSlide] of slides) {
    if (slides.size <= maxOpenSlides) break;
    slides.delete(oldestPath);
    openSlideLibrary.close(oldestSlide);
  }
  return slide;
}

function closeSlide(path: string): void {
  const slide = slides.get(path);
  slides.delete(path);
  if (slide !== undefined) library?.close(slide);
}

function handleRequest(request: Exclude<SlideRequest, { kind: 'close' }>): SlideResults[keyof SlideResults] {
  library ??= new OpenSlideLibrary();
  const slide = openCachedSlide(request.path, library);
  try {
    if (request.kind === 'open') return library.describeSlide(slide);
    return request.kind === 'region' ? library.readRegion(slide, request) : library.readAssociated(slide, request);
  } catch (error) {
    slides.delete(request.path);
    library.close(slide);
    throw error;
  }
}

process.on('message', (request: SlideRequest) => {
  if (request.kind === 'close') return closeSlide(request.path);
  let message: SlideAnswer;
  try {
    message = { kind: 'done', result: handleRequest(request) };
  } catch (error) {
    message = { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
  process.send?.(message);
});
process.on('disconnect', () => process.exit(0));
leaveSignalsToParent();
