import { request } from '../api.js';
import { h, linkButton } from '../dom.js';
import { toSignificantDigits } from '../format.js';
import { showFormDialog } from '../forms.js';
import type { ImageMetadata } from './image-metadata.js';
import { commonTexts, imageTexts } from '../texts.js';

/** A button to enter the pixel size; `null` if the file states it. @param onSaved called when the pixel size was saved or removed */
export function pixelSizeButton(itemId: string, metadata: ImageMetadata, onSaved: () => void) {
  const { mm_x: mmX, mm_y: mmY, pixelSizeEntered: isEntered, geospatial } = metadata;
  if (geospatial || (mmX !== null && !isEntered)) return null;
  return h('div', linkButton(isEntered ? imageTexts.changePixelSize : imageTexts.enterPixelSize, askForSize));

  function askForSize() {
    const micrometers = (mm: number | null) => (mm === null ? '' : toSignificantDigits(mm * 1000, 9));
    const inputAttributes = { type: 'number', step: 'any', min: 1e-4, max: 1e7 };
    const removeButton = linkButton(imageTexts.removePixelSize, () => void removeSize());
    const dialog = showFormDialog({
      title: isEntered ? imageTexts.changePixelSize : imageTexts.enterPixelSize,
      text: imageTexts.pixelSizeHint,
      fields: [
        { ...inputAttributes, name: 'mm_x', label: imageTexts.pixelWidth, value: micrometers(mmX), required: true },
        { ...inputAttributes, name: 'mm_y', label: imageTexts.pixelHeight, value: micrometers(mmY) },
      ],
      otherButtons: isEntered ? [removeButton] : [],
      action: commonTexts.save,
      async send({ mm_x: width, mm_y: height }) {
        const query = { mm_x: Number(width) / 1000, mm_y: height ? Number(height) / 1000 : null };
        await request('PUT', `item/${itemId}/tiles/pixel_size`, { query });
        onSaved();
      },
    });

    async function removeSize() {
      await request('DELETE', `item/${itemId}/tiles/pixel_size`);
      dialog.close();
      onSaved();
    }
  }
}
