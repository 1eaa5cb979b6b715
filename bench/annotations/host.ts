// A reference host in a separate process. Its arguments are the database and the data directory.
import { createReferenceHost } from '../../src/reference-host/index.js';
import { priorities, type TileSourceDefinition } from '../../src/tilesource/tile-source.js';
import { openTestImage } from '../../src/tilesource/sources/test/test-source.js';
import { slideHeight, slideWidth } from '../support/polygons.js';
import { serveParent } from '../support/children.js';

/** Opens large images without pixels, of the size of the slide with the polygons. */
const blankSource: TileSourceDefinition = {
  name: 'blank',
  extensions: { default: priorities.manual, blank: priorities.preferred },
  mimeTypes: { default: priorities.manual },
  open: () => Promise.resolve(openTestImage({ sizeX: slideWidth, sizeY: slideHeight })),
};

const [mongoUri, dataDirectory] = process.argv.slice(2) as [string, string];
const host = await createReferenceHost({
  mongoUri,
  dataDirectory,
  passwordMemoryKiB: 8,
  viewer: false,
  install: { tileSources: [blankSource] },
});
const { url } = await host.listen();
await serveParent(url, {}, () => host.close());
