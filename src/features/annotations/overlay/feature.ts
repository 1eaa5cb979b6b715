import type { Core } from '../../../core/core.js';
import { bindRoutes } from '../../../http/route.js';
import type { TileCache } from '../../caches/tile-cache.js';
import type { Feature } from '../../feature.js';
import type { Images } from '../../images/images.js';
import type { AnnotationOffers } from '../feature.js';
import type { TableOffers } from '../table/feature.js';
import { Colorings } from './coloring/colorings.js';
import { AnnotationDensities } from './densities.js';
import { AnnotationDensityModel } from './density.model.js';
import { Drawer } from './drawer.js';
import { AnnotationOverlay } from './overlay.js';
import { AnnotationTiles } from './tiles.js';
import { annotationTileRoutes } from './tiles.routes.js';
import { scheduleWarmUp } from './warm-up.js';

/** The dependencies of the feature. */
interface OverlayNeeds extends AnnotationOffers, TableOffers {
  core: Core;
  images: Images;
  tiles: TileCache;
  /** Whether this process answers requests. If so, drawing is warmed up at startup. */
  isServing: boolean;
}

/** Draws annotations of any size as PNG or vector tiles. */
export const overlayFeature: Feature<OverlayNeeds, { overlay: AnnotationOverlay }> = {
  async open({ core, images, tiles, isServing, annotations, model, followers, blocks, tables }, onClose) {
    const { records, host, logger, queues, ownCollections } = core;
    const drawer = new Drawer();
    onClose(() => drawer.close());
    const densityModel = new AnnotationDensityModel(ownCollections);
    await densityModel.createIndexes();
    const densities = new AnnotationDensities({ store: annotations.store, model: densityModel, drawer, logger });
    onClose(() => densities.close());
    followers.add({
      onElementsStored: (elements) => densities.plan(elements),
      sweep: async (...sweepArguments) => ({ annotationDensities: await densities.sweep(...sweepArguments) }),
    });
    const overlay = new AnnotationOverlay({ store: annotations.store, densities, drawer });
    const overlays = new AnnotationTiles({
      load: (id, caller) => annotations.writer.load(id, 0, caller),
      overlay,
      colorings: new Colorings({ store: annotations.store, densities, drawer, blocks, tables }),
      drawQueue: queues.elements,
      images,
      records,
      tiles,
    });
    if (isServing) {
      const unusedId = new host.mongoose.Types.ObjectId().toHexString();
      const block = { window: unusedId, level: 0, column: 0, row: 0 };
      const reads = [
        () => model.find(unusedId),
        () => records.findItem(unusedId),
        () => densityModel.findSummaries([unusedId]),
        () => densityModel.findBlocks([block]),
      ];
      onClose(scheduleWarmUp(logger, reads));
    }
    return { offers: { overlay }, routes: bindRoutes(annotationTileRoutes, { overlays }) };
  },
};
