import { openLargeImage } from '../tilesource/large-image.js';
import { openLocalFile } from './local-file.js';
import { resolveExistingFile } from './usage.js';

/**
 * Describes an image file like `GET item/:id/tiles`, with the name of the source that reads it and the names of its associated images.
 *
 * @throws TileSourceError that says why no source reads the file.
 */
export async function readImageInfo(path: string, { includesInternal }: { includesInternal: boolean }): Promise<object> {
  const { name, source } = await openLocalFile(await resolveExistingFile(path));
  try {
    const image = openLargeImage(source, { sourceName: name });
    return {
      source: name,
      ...image.metadata(),
      associatedImages: source.associatedImages ?? [],
      ...(includesInternal && { internal: await image.internalMetadata() }),
    };
  } finally {
    await source.close();
  }
}
