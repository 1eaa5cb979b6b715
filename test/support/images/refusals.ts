import { expect } from 'vitest';
import { TileSourceError } from '../../../src/errors.js';
import type { SourceInput, TileSourceDefinition } from '../../../src/tilesource/tile-source.js';

/** Expects that opening a file, or reading the first tile of its finest level, is refused with a message that names the reason. */
export async function expectRefused(
  definition: Pick<TileSourceDefinition, 'open'>,
  input: SourceInput,
  message: string,
): Promise<void> {
  const reading = (async () => {
    const source = await definition.open(input);
    try {
      await source.readTile({ level: source.metadata.levels - 1, x: 0, y: 0, frame: 0 });
    } finally {
      await source.close();
    }
  })();
  await expect(reading).rejects.toThrow(TileSourceError);
  await expect(reading).rejects.toThrow(message);
}
