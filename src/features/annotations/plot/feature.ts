import type { Core } from '../../../core/core.js';
import { LatestOnly } from './latest-only.js';
import { bindRoutes } from '../../../http/route.js';
import type { Feature } from '../../feature.js';
import type { Items } from '../../items/items.js';
import type { AnnotationServices } from '../annotation-services.js';
import { DataFiles } from './files.js';
import { PlotData } from './plot-data.js';
import { annotationPlotRoutes } from './plot.routes.js';

/** Offers data of items, annotations and elements as columns for plots. */
export const plotFeature: Feature<{ core: Core; items: Items; annotations: AnnotationServices }, null> = {
  open({ core: { host, access, records }, items, annotations }, onClose) {
    const dataFiles = new DataFiles(host.files);
    onClose(() => dataFiles.close());
    const plotData = new PlotData({ records, access, annotations, dataFiles });
    return { offers: null, routes: bindRoutes(annotationPlotRoutes, { items, plotData, latest: new LatestOnly() }) };
  },
};
