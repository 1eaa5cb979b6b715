import { priorities, type TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { paint, rasterSource } from './raster-source.js';

/** An image whose tiles are read when the test allows it, or never. */
export class HeldSource {
  readingCount = 0;
  startedCount = 0;
  abortedCount = 0;
  #release: () => void = () => {};
  #held = Promise.resolve();

  readonly definition: TileSourceDefinition = {
    name: 'held',
    extensions: { default: priorities.manual, held: priorities.preferred },
    mimeTypes: { default: priorities.manual },
    open: async () => {
      const { source } = rasterSource(paint({ width: 256, height: 256, bands: 3 }, (x, y) => (x + y) & 255));
      return {
        ...source,
        readTile: async (address, options) => {
          this.startedCount += 1;
          this.readingCount += 1;
          try {
            await this.#wait(options?.signal);
            return await source.readTile(address);
          } finally {
            this.readingCount -= 1;
          }
        },
      };
    },
  };

  hold(): void {
    this.startedCount = this.abortedCount = 0;
    this.#held = new Promise((resolve) => (this.#release = resolve));
  }

  release(): void {
    this.#release();
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    let leave: () => void = () => {};
    const left = new Promise<void>((_resolve, reject) => {
      leave = () => {
        this.abortedCount += 1;
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave);
    });
    await Promise.race([this.#held, left]).finally(() => signal?.removeEventListener('abort', leave));
  }
}
