import type { BorrowedImage, SourceInput } from '../tilesource/tile-source.js';
import type { TileSourceRegistry } from '../tilesource/registry/registry.js';
import { asStored } from '../tilesource/render/appearance.js';
import { Renderer } from '../tilesource/render/renderer.js';

/** Opens a file as an image for the duration of its use. Implements `borrow` for folders whose images are not kept open. */
export async function borrowImage<T>(
  registry: TileSourceRegistry,
  input: SourceInput,
  use: (image: BorrowedImage) => T | Promise<T>,
  { sourceName, signal }: { sourceName?: string; signal?: AbortSignal } = {},
): Promise<T> {
  const { name, source } = await registry.open(input, {
    ...(sourceName !== undefined && { sourceName }),
    ...(signal && { signal }),
  });
  const renderer = new Renderer(source, {});
  try {
    return await use({
      sourceName: name,
      source,
      samples: (region) => renderer.readSamples(region, asStored),
      styled: async (region, style) =>
        renderer.renderBox(region, { ...(await renderer.appearanceOf(style)), mayDropAlpha: true }),
    });
  } finally {
    await source.close();
  }
}
