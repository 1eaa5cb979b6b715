import { openLargeImage } from '../tilesource/large-image.js';
import { openLocalFile } from './local-file.js';
import { existingFile } from './usage.js';

/**
 * What an image file is, in the words of `GET item/:id/tiles`, with the source that reads it and the pictures that lie beside the image.
 *
 * @throws TileSourceError that says why no source reads it
 */
export async function info(path: string, { internal }: { internal: boolean }): Promise<object> {
  const { name, source } = await openLocalFile(await existingFile(path));
  try {
    const image = openLargeImage(source, { sourceName: name });
    return {
      source: name,
      ...image.metadata(),
      associatedImages: source.associatedImages ?? [],
      ...(internal && { internal: await image.internalMetadata() }),
    };
  } finally {
    await source.close();
  }
}
