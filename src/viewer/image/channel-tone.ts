import { h } from '../dom.js';
import { choice, field } from '../forms.js';
import { significant } from '../format.js';
import type { Channel } from './channels.js';
import { colorMaps, gammaRange } from './tones.js';
import { imageTexts } from '../texts.js';

/** The color map of a channel, its gamma, and whether it is inverted. They are folded, because few users need them. */
export function channelTone({ name, palette, gamma, invert, on }: Channel, change: (changes: Partial<Channel>) => void) {
  const maps = { '': imageTexts.ownColor, ...Object.fromEntries(colorMaps.map((map) => [map, map])) };
  const map = choice(maps, palette ?? '', {
    'aria-label': imageTexts.colorMapOf(name),
    onchange: () => change({ palette: map.value || null }),
  });
  const [min, max] = gammaRange;
  const power = h('input', {
    type: 'number',
    min,
    max,
    step: 'any',
    value: significant(gamma ?? 1, 4),
    'aria-label': imageTexts.gammaOf(name),
    onchange() {
      const entered = power.valueAsNumber;
      const used = Number.isNaN(entered) ? 1 : Math.min(max, Math.max(min, entered));
      power.value = significant(used, 4);
      change({ gamma: used });
    },
  });
  const inverted = h('input', {
    type: 'checkbox',
    checked: invert === true,
    'aria-label': imageTexts.invertOf(name),
    onchange: () => change({ invert: inverted.checked }),
  });
  const isUsed = palette != null || (gamma ?? 1) !== 1 || invert === true;
  return h(
    'details.channel-tone.small',
    { open: isUsed, hidden: !on },
    h('summary', imageTexts.colorMapAndGamma),
    h('div.channel-tones', field(imageTexts.colorMap, map), field(imageTexts.gamma, power)),
    h('label.row', inverted, imageTexts.invert),
  );
}
