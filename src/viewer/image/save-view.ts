import { outcome } from '../admin/parts.js';
import { apiUrl, save } from '../api.js';
import { h, plainDialog } from '../dom.js';
import { scaleBar } from '../format.js';
import type { ImageMetadata } from './metadata.js';
import { projectionQuery } from './projection.js';
import type { Look, Stage } from '../stage/contract.js';
import { imageTexts } from '../texts.js';

/** Longest side of a region that is saved at full resolution, in pixels. */
const maxSide = 20_000;

/** Saves the view as a file: the screen with a scale bar, or the pixels of the image. */
export function saveView(options: {
  item: { _id: string; name: string };
  metadata: ImageMetadata;
  stage: Stage;
  drawing: HTMLElement;
  /** the frame of the view, how it is shown, and the frames of the channels that are shown if there are others */
  shown: () => Look & { frame: number; some: number[] | null };
}) {
  const { item, metadata, stage, drawing, shown } = options;
  const { sizeX, sizeY } = metadata;
  const seen = stage.view();
  const left = Math.max(0, Math.floor(seen.left));
  const top = Math.max(0, Math.floor(seen.top));
  const size = { width: Math.min(sizeX, Math.ceil(seen.right)) - left, height: Math.min(sizeY, Math.ceil(seen.bottom)) - top };
  const name = item.name.replace(/(\.ome)?\.\w+$/i, '');
  const { frame, style, projection, some } = shown();
  const channels = some?.join(',');
  const place = { left, top, regionWidth: size.width, regionHeight: size.height, ...projectionQuery(projection) };
  const region = { ...place, frame: frame || null, style: style || null, encoding: 'TILED' };
  const raw = { ...place, frame: frame || null, encoding: 'OMETIFF' };
  const placed = `${name}_region_${left}_${top}`;
  const isTooLarge = Math.max(size.width, size.height) > maxSide;
  const said = outcome();
  const dialog = plainDialog(
    imageTexts.saveView,
    h('p', imageTexts.saveScreen),
    action('PNG', async () => save(await pictureOf(stage, metadata, drawing), `${name}.png`)),
    h('p', imageTexts.saveImage(size.width, size.height)),
    ...(isTooLarge ? [h('p.quiet-text', imageTexts.saveTooLarge(maxSide))] : files()),
    said.element,
  );

  function files() {
    const samples = `${placed}.ome.tif`;
    return [
      action('TIFF', () => save(address(region), `${placed}.tif`)),
      h('p', imageTexts.saveSamples),
      action(channels ? imageTexts.allChannels : 'OME-TIFF', () => save(address(raw), samples)),
      channels ? action(imageTexts.shownChannels, () => save(address({ ...raw, frameList: channels }), samples)) : null,
    ];
  }

  function address(query: Record<string, string | number | null>) {
    return apiUrl(`item/${item._id}/tiles/region`, query);
  }

  function action(label: string, save: () => Promise<void>) {
    return said.button(label, () => save().then(() => dialog.close()));
  }
}

/** The picture on the screen, with a scale bar in the corner. */
async function pictureOf(stage: Stage, metadata: ImageMetadata, drawing: HTMLElement): Promise<Blob> {
  const layers = drawing.querySelectorAll<HTMLCanvasElement>('.drawing .openseadragon-canvas canvas, .veil, .live-layer');
  const place = drawing.getBoundingClientRect();
  const ratio = devicePixelRatio;
  const canvas = h('canvas', { width: Math.round(place.width * ratio), height: Math.round(place.height * ratio) });
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(ratio, ratio);
  for (const layer of layers) {
    // Hidden layers have no size.
    if (layer.offsetWidth === 0) continue;
    context.filter = layer.style.filter || 'none';
    context.drawImage(layer, 0, 0, place.width, place.height);
  }
  context.filter = 'none';
  const { width, label } = scaleBar({ zoom: stage.zoom(), mmPerPixel: metadata.mm_x, maxWidth: 150 });
  const bottom = canvas.height / ratio - 14;
  context.fillStyle = 'rgb(255 255 255 / 85%)';
  context.fillRect(10, bottom - 28, width + 20, 36);
  context.fillStyle = '#16181f';
  context.fillRect(20, bottom - 3, width, 3);
  context.font = '600 13px system-ui, sans-serif';
  context.textAlign = 'center';
  context.fillText(label, 20 + width / 2, bottom - 9);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error(imageTexts.saveFailed))));
  });
}
