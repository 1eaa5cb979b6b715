import type { TileSource } from '../tile-source.js';
import { tagOf, type DirectoryPlan, type TiffContainer } from '../pyramid/container.js';
import { isLossy, packingTags, packTile, storedBandCount, type TilePacking } from '../pyramid/tiles.js';
import { toPicture } from '../render/pixels.js';

/** JPEG quality of associated images. */
const associatedQuality = 89;

/**
 * Appends the associated images (label, macro, …) to the file. Returns a directory for each image, which consists of one strip. The
 * image's name is the description of its directory.
 */
export async function writeAssociatedImages(
  container: TiffContainer,
  source: TileSource,
  packing: TilePacking,
): Promise<DirectoryPlan[]> {
  const plans: DirectoryPlan[] = [];
  const associatedPacking: TilePacking = {
    compression: isLossy(packing) ? 'jpeg' : 'deflate',
    quality: associatedQuality,
    halvesChroma: false,
    predictor: true,
    effort: null,
  };
  for (const name of source.associatedImages ?? []) {
    const associated = await source.readAssociatedImage?.(name);
    if (!associated) continue;
    const picture = await toPicture(associated.raster, associated.white);
    const bytes = await packTile(picture, associatedPacking);
    const { width, height } = picture;
    plans.push({
      tags: [
        tagOf.long(256, width), // ImageWidth
        tagOf.long(257, height), // ImageLength
        tagOf.long(278, height), // RowsPerStrip
        tagOf.short(284, 1), // PlanarConfiguration: interleaved
        ...packingTags({ bands: storedBandCount(picture.bands, associatedPacking), dtype: 'uint8' }, associatedPacking),
        tagOf.ascii(270, name), // ImageDescription
      ],
      chunks: {
        kind: 'strips',
        offsets: Float64Array.of(await container.append(bytes)),
        lengths: Float64Array.of(bytes.length),
      },
    });
  }
  return plans;
}
