import { unlink, writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { TileSourceError } from '../../../errors.js';
import { runInChild } from '../../convert/child/child-process.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { defaultMaxDecodedPixels } from '../../tile-source.js';
import { toTileSourceError, readHeader } from './decode.js';
import type { PreparedFile } from './prepared-file.js';
import { temporaryPath } from '../../../core/temporary-files.js';

/**
 * Milliseconds after which rendering a drawing is aborted. Its cost cannot be predicted from its text, and filters can take hours.
 */
const maxDrawingMs = 30_000;

/** Number of drawings rendered at the same time, each in a separate process. */
const drawingQueue = new WorkQueue({ name: 'drawings', running: 2 });

/**
 * Renders an SVG in a separate process, which can be ended, because the library offers no way to abort. The size of the drawing is
 * also computed there: if the drawing does not declare its size, computing the size alone can take hours.
 *
 * @throws TileSourceError if the drawing is invalid, has too many pixels, takes longer than `timeoutMs`, or needs more memory than
 * a conversion can use. Also throws the signal's reason when it aborts.
 */
export async function drawSvg(
  svg: PreparedFile,
  directory: string,
  {
    signal,
    timeoutMs = maxDrawingMs,
    maxDecodedPixels = defaultMaxDecodedPixels,
  }: { signal?: AbortSignal | undefined; timeoutMs?: number; maxDecodedPixels?: number | undefined } = {},
): Promise<PreparedFile> {
  const [input, output] = [temporaryPath(directory, '.svg'), temporaryPath(directory, '.png')];
  const release = async (): Promise<void> => {
    await unlink(output).catch(() => {});
  };
  try {
    await writeFile(input, svg.input, { flag: 'wx', mode: 0o600 });
    await drawingQueue.run(() => drawInChild({ input, output, maxDecodedPixels }, signal, timeoutMs), { signal });
    await svg.release();
    return { input: output, format: svg.format, release };
  } catch (error) {
    await release();
    throw error;
  } finally {
    await unlink(input).catch(() => {});
  }
}

async function drawInChild(
  drawing: { input: string; output: string; maxDecodedPixels: number },
  signal: AbortSignal | undefined,
  timeoutMs: number,
): Promise<void> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const anySignal = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    await runInChild({ kind: 'svg', drawing }, { onProgress: () => {} }, { signal: anySignal });
  } catch (error) {
    if (signal?.aborted !== true && timeout.aborted) {
      throw new TileSourceError(`The SVG takes longer than ${timeoutMs / 1000} s to draw.`, { cause: error });
    }
    throw error;
  }
}

/** Renders one file. This runs in the separate process. */
export async function runDrawing({
  bytes,
  output,
  maxDecodedPixels,
}: {
  bytes: Buffer;
  output: string;
  maxDecodedPixels: number;
}): Promise<void> {
  sharp.cache(false);
  try {
    await readHeader({ input: bytes, format: 'svg' }, { limitInputPixels: maxDecodedPixels }, { maxDecodedPixels });
    await sharp(bytes, { limitInputPixels: false, failOn: 'error' }).png({ compressionLevel: 1 }).toFile(output);
  } catch (error) {
    throw toTileSourceError(error);
  }
}
