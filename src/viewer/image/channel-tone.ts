import { h } from '../dom.js';
import { choice, field } from '../forms.js';
import { toSignificantDigits } from '../format.js';
import type { Channel } from './channels.js';
import { colorMaps, gammaRange } from './tones.js';
import { imageTexts } from '../texts.js';

/** Controls for the color map and the gamma of a channel, and for inverting it. They are folded, because few users need them. */
export function channelTone({ name, palette, gamma, invert, isVisible }: Channel, change: (changes: Partial<Channel>) => void) {
  const colorMapNames = { '': imageTexts.ownColor, ...Object.fromEntries(colorMaps.map((map) => [map, map])) };
  const colorMapList = choice(colorMapNames, palette ?? '', {
    'aria-label': imageTexts.colorMapOf(name),
    onchange: () => change({ palette: colorMapList.value || null }),
  });
  const [min, max] = gammaRange;
  const gammaInput = h('input', {
    type: 'number',
    min,
    max,
    step: 'any',
    value: toSignificantDigits(gamma ?? 1, 4),
    'aria-label': imageTexts.gammaOf(name),
    onchange() {
      const enteredGamma = gammaInput.valueAsNumber;
      const acceptedGamma = Number.isNaN(enteredGamma) ? 1 : Math.min(max, Math.max(min, enteredGamma));
      gammaInput.value = toSignificantDigits(acceptedGamma, 4);
      change({ gamma: acceptedGamma });
    },
  });
  const invertBox = h('input', {
    type: 'checkbox',
    checked: invert === true,
    'aria-label': imageTexts.invertOf(name),
    onchange: () => change({ invert: invertBox.checked }),
  });
  const isChanged = palette != null || (gamma ?? 1) !== 1 || invert === true;
  return h(
    'details.channel-tone.small',
    { open: isChanged, hidden: !isVisible },
    h('summary', imageTexts.colorMapAndGamma),
    h('div.channel-tones', field(imageTexts.colorMap, colorMapList), field(imageTexts.gamma, gammaInput)),
    h('label.row', invertBox, imageTexts.invert),
  );
}
