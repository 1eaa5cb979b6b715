import { fill, h, linkButton } from '../dom.js';
import { showFormDialog, choice, field } from '../forms.js';
import type { ImageItem } from '../browse/browse-model.js';
import type { Channel, Preset } from './channels.js';
import { savePreset } from './presets.js';
import { commonTexts, imageTexts } from '../texts.js';

/** A drop-down list of presets, and a button that saves the current channels as a preset. */
export function presetChoice(options: {
  item: ImageItem;
  presets: Preset[];
  /** whether the user may store presets */
  mayWrite: boolean;
  /** the displayed channels */
  currentChannels: () => Channel[];
  onChoose: (preset: Preset | 'automatic' | null) => void;
}) {
  const { item, mayWrite, currentChannels, onChoose } = options;
  let { presets } = options;
  const select = choice({}, '', { onchange: choose });
  fillList();
  const saveButton = mayWrite && linkButton(imageTexts.savePreset, askForName);
  return {
    elements: [field(imageTexts.presets, select), saveButton && h('div', saveButton)],
    /** Must be called when the displayed channels no longer match the chosen preset. */
    clear: () => (select.value = ''),
  };

  function fillList(selected = '') {
    const names = Object.fromEntries(presets.map(({ name }, index) => [`preset ${index}`, name]));
    const choices = { '': imageTexts.choose, auto: imageTexts.automaticContrast, ...names };
    fill(select, ...choice(choices, selected).children);
  }

  function choose() {
    if (select.value === 'auto') onChoose('automatic');
    else onChoose(select.value === '' ? null : (presets[Number(select.value.replace('preset', ''))] ?? null));
  }

  function askForName() {
    showFormDialog({
      title: imageTexts.savePreset,
      fields: [
        { name: 'name', label: commonTexts.name, required: true, maxlength: 100 },
        { name: 'place', label: imageTexts.presetFor, options: imageTexts.presetPlaces, value: 'item' },
      ],
      action: commonTexts.save,
      async send({ name = '', place }) {
        const savedPreset = await savePreset(item, place === 'folder' ? 'folder' : 'item', name.trim(), currentChannels());
        presets = [...presets.filter((preset) => preset.name !== savedPreset.name), savedPreset];
        fillList(`preset ${presets.length - 1}`);
      },
    });
  }
}
