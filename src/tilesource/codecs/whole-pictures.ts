import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';
import { limitWasmMemory } from './threads/limited-wasm.js';
import { describeMissingPackages } from '../../optional-packages.js';

/** A picture that a library decodes as a whole. */
export interface PictureTask {
  format: 'jpegxl' | 'heif';
  bytes: Uint8Array;
  /** A picture with more pixels is refused. */
  maxPixels: number;
  /** If set, a picture of any other size is refused. It is set for tiles. */
  requiredSize?: { width: number; height: number };
}

/** A decoded picture: as PNG, or as bytes of red, green, blue and alpha. */
export interface WholePicture {
  kind: 'png' | 'rgba';
  data: Uint8Array<ArrayBuffer>;
  width: number;
  height: number;
  hasAlpha: boolean;
  icc: Uint8Array | null;
}

const require = createRequire(import.meta.url);

/** Maximum memory of a decoder in bytes. */
export const maxDecoderBytes = 3 * 2 ** 28;

/** The part of jxl-oxide-wasm that is used. */
interface JxlOxide {
  initSync(options: { module: Uint8Array<ArrayBuffer> }): { memory: { buffer: ArrayBuffer } };
  JxlImage: new () => {
    feedBytes(bytes: Uint8Array): void;
    tryInit(): boolean;
    readonly loaded: boolean;
    readonly width: number | undefined;
    readonly height: number | undefined;
    render(): { encodeToPng(): Uint8Array<ArrayBuffer>; readonly iccProfile: Uint8Array };
    free(): void;
  };
}

/** The part of libheif-js that is used. */
interface LibHeif {
  HEAPU8: Uint8Array;
  HeifDecoder: new () => { decode(bytes: Uint8Array): HeifImage[] };
}

interface HeifImage {
  get_width(): number;
  get_height(): number;
  is_primary(): boolean;
  has_alpha_channel(): boolean;
  display(to: { data: Uint8ClampedArray; width: number; height: number }, done: (result: object | null) => void): void;
  free(): void;
}

/** Path of a file of an optional package. @throws Error that says what to install. */
function resolveOptionalFile(path: string): string {
  try {
    return require.resolve(path);
  } catch {
    const [name] = path.split('/');
    throw new Error(describeMissingPackages(name!));
  }
}

/** A decoder. `memoryBytes` returns its current memory. */
export interface PictureDecoder {
  decode(task: PictureTask): Promise<WholePicture>;
  memoryBytes(): number;
}

/** Loads a decoder of JPEG XL with separate memory. */
export async function loadJxlDecoder(): Promise<PictureDecoder> {
  const folder = dirname(resolveOptionalFile('jxl-oxide-wasm/package.json'));
  const module = limitWasmMemory(readFileSync(join(folder, 'jxl_oxide_wasm_bg.wasm')), maxDecoderBytes);
  // An imported module is never freed, nor is its memory. A function that is compiled from the module's text can be freed.
  const code = readFileSync(join(folder, 'jxl_oxide_wasm.js'), 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('export {') && !line.startsWith('export default'))
    .join('\n')
    .replace(/^export /gm, '')
    .replaceAll('import.meta.url', '""');
  const library = (compileFunction(`${code}\nreturn { JxlImage, initSync };`) as () => JxlOxide)();
  const { memory } = library.initSync({ module });
  return {
    memoryBytes: () => memory.buffer.byteLength,
    async decode(task) {
      const image = new library.JxlImage();
      image.feedBytes(task.bytes);
      if (!image.tryInit()) throw new Error('the file ends too early');
      const { width = 0, height = 0 } = image;
      checkSize({ width, height }, task);
      if (!image.loaded) throw new Error('the file ends too early');
      const renderedImage = image.render();
      const icc = renderedImage.iccProfile;
      // This call frees the rendered image.
      const data = renderedImage.encodeToPng();
      image.free();
      return { kind: 'png', data, width, height, hasAlpha: false, icc: icc.length > 0 ? icc : null };
    },
  };
}

/** Loads a decoder of HEIF with separate memory. */
export async function loadHeifDecoder(): Promise<PictureDecoder> {
  const programPath = resolveOptionalFile('libheif-js/libheif-wasm/libheif.js');
  const wasmBinary = limitWasmMemory(readFileSync(resolveOptionalFile('libheif-js/libheif-wasm/libheif.wasm')), maxDecoderBytes);
  const module = { exports: {} };
  const parameterNames = ['module', 'exports', 'require', '__filename', '__dirname', 'console'];
  // The library prints problems of files to the console.
  const silentConsole = { log() {}, warn() {}, error() {} };
  compileFunction(readFileSync(programPath, 'utf8'), parameterNames)(
    module,
    module.exports,
    require,
    programPath,
    dirname(programPath),
    silentConsole,
  );
  const createLibrary = module.exports as (options: object) => LibHeif | Promise<LibHeif>;
  const library = await createLibrary({ wasmBinary });
  return {
    memoryBytes: () => library.HEAPU8.byteLength,
    async decode(task) {
      const images = new library.HeifDecoder().decode(task.bytes);
      try {
        const image = images.find((each) => each.is_primary()) ?? images[0];
        if (image === undefined) throw new Error('the file contains no picture');
        const [width, height] = [image.get_width(), image.get_height()];
        checkSize({ width, height }, task);
        const pixels = new Uint8ClampedArray(width * height * 4);
        await new Promise<void>((resolve, reject) => {
          image.display({ data: pixels, width, height }, (result) =>
            result === null ? reject(new Error('the picture is corrupt')) : resolve(),
          );
        });
        const data = new Uint8Array(pixels.buffer);
        return { kind: 'rgba', data, width, height, hasAlpha: image.has_alpha_channel(), icc: heifProfile(task.bytes) };
      } finally {
        for (const image of images) image.free();
      }
    },
  };
}

function checkSize({ width, height }: { width: number; height: number }, { maxPixels, requiredSize }: PictureTask): void {
  if (requiredSize !== undefined && (requiredSize.width !== width || requiredSize.height !== height)) {
    throw new Error(`it has ${width} by ${height} pixels where ${requiredSize.width} by ${requiredSize.height} are declared`);
  }
  if (width < 1 || height < 1) throw new Error(`the file contains a picture of ${width} by ${height} pixels`);
  if (width * height > maxPixels)
    throw new Error(`the picture has ${width} by ${height} pixels; at most ${maxPixels} are supported`);
}

/** Number of bytes at the start of a file that are searched for the color profile. */
const searchedBytes = 2 ** 20;

/** The color profile, which the library does not return: the content of the first `colr` box of type `prof`. */
function heifProfile(bytes: Uint8Array): Uint8Array | null {
  const fileStart = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, searchedBytes));
  const at = fileStart.indexOf('colrprof', 0, 'latin1');
  if (at < 4) return null;
  const end = at - 4 + fileStart.readUInt32BE(at - 4);
  return end <= fileStart.length && end > at + 8 + 128 ? Uint8Array.from(fileStart.subarray(at + 8, end)) : null;
}
