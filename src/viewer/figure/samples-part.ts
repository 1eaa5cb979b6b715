import { createNotice } from '../admin/parts.js';
import { apiUrl, saveFile } from '../api.js';
import { h } from '../dom.js';
import { projectionQuery } from '../image/projection.js';
import type { FrameAppearance } from '../stage/stage-contract.js';
import type { Box } from '../annotations/annotation-model.js';
import { imageTexts } from '../texts.js';
import { figureTexts } from '../figure-texts.js';

/** Maximum side of a region that is saved at full resolution, in pixels. */
const maxSide = 20_000;

/** Buttons that save a box of an image at full resolution, as it is displayed or as samples. */
export function samplesPart(options: {
  itemId: string;
  /** name of the saved files, without their extension */
  name: string;
  box: Box;
  /** the frame and how it is shown; `shownChannels`: the frames of the visible channels, or `null` if all channels or none are visible */
  display: FrameAppearance & { frame: number; shownChannels: number[] | null };
  onSaved: () => void;
}) {
  const { itemId, name, box, display, onSaved } = options;
  const { left, top } = box;
  const size = { width: box.right - left, height: box.bottom - top };
  const { frame, style, projection, shownChannels } = display;
  const shownFrames = shownChannels?.join(',');
  const boxQuery = { left, top, regionWidth: size.width, regionHeight: size.height, ...projectionQuery(projection) };
  const pictureQuery = { ...boxQuery, frame: frame || null, style: style || null, encoding: 'TILED' };
  const samplesQuery = { ...boxQuery, frame: frame || null, encoding: 'OMETIFF' };
  const notice = createNotice();
  if (Math.max(size.width, size.height) > maxSide) return h('p.quiet-text', imageTexts.saveTooLarge(maxSide));
  const samplesFileName = `${name}.ome.tif`;
  return h(
    'div.stack.column',
    h('p', figureTexts.fullSize(size.width, size.height)),
    saveButton(figureTexts.tiff, pictureQuery, `${name}.tif`),
    h('p', imageTexts.saveSamples),
    saveButton(shownFrames ? imageTexts.allChannels : 'OME-TIFF', samplesQuery, samplesFileName),
    shownFrames ? saveButton(imageTexts.shownChannels, { ...samplesQuery, frameList: shownFrames }, samplesFileName) : null,
    notice.element,
  );

  function saveButton(label: string, query: Record<string, string | number | null>, fileName: string) {
    const save = async () => {
      await saveFile(apiUrl(`item/${itemId}/tiles/region`, query), fileName);
      onSaved();
    };
    return h('div', notice.createButton(label, save));
  }
}
