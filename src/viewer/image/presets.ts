import { isOpenedByLink, request } from '../api.js';
import type { ImageItem } from '../browse/browse-model.js';
import { applyPreset, presetsOf, styleOf, type Channel, type Preset } from './channels.js';

/** Loads the presets of an image with channels, and applies the default preset of the folder's configuration, if there is one. */
export async function loadPresets(item: ImageItem, channels: Channel[], signal: AbortSignal) {
  // A link gives no access to presets. Its address names the channels.
  if (channels.length === 0 || isOpenedByLink()) return { presets: [], defaultChannels: channels };
  // A source that does not exist, or that the user may not read, adds no presets.
  const [configuration, folderList, itemPresets, internal] = await Promise.all([
    request('GET', `folder/${item.folderId}/yaml_config/.large_image_config.yaml`, { signal }).catch(() => null),
    requestFolderPresets(item, signal).catch(() => []),
    request('GET', `item/${item._id}/internal_metadata/presets`, { signal }).catch(() => null),
    request('GET', `item/${item._id}/tiles/internal_metadata`, { signal }).catch(() => null),
  ]);
  const { imageFramePresets, imageFramePresetDefaults } = (configuration ?? {}) as Record<string, unknown>;
  const presets = presetsOf({ lists: [imageFramePresets, folderList, itemPresets], omero: internal?.omero });
  const defaults = Array.isArray(imageFramePresetDefaults) ? imageFramePresetDefaults : [];
  const defaultPreset = presets.find(({ name }) => defaults.some((entry: { name?: string }) => entry?.name === name));
  return { presets, defaultChannels: defaultPreset ? applyPreset(defaultPreset, channels) : channels };
}

/** Where a preset is stored: for one image, or for all images in a folder and its subfolders. */
export type PresetPlace = 'item' | 'folder';

/** The configuration in which this page stores a folder's presets. It is separate, so that the page does not change a configuration that was written by hand. */
const folderPresetsName = '.large_image_presets.yaml';

/** The presets that this page has stored in a folder, or in the nearest folder above that has presets. */
async function requestFolderPresets({ folderId }: ImageItem, signal?: AbortSignal): Promise<unknown[]> {
  const path = `folder/${folderId}/yaml_config/${folderPresetsName}` as const;
  const { imageFramePresets: presets } = ((await request('GET', path, signal && { signal })) ?? {}) as Record<string, unknown>;
  return Array.isArray(presets) ? presets : [];
}

/** Stores the channels as a preset. A preset with the same name is replaced. */
export async function savePreset(item: ImageItem, place: PresetPlace, name: string, channels: Channel[]): Promise<Preset> {
  const path = `item/${item._id}/internal_metadata/presets` as const;
  const storedPresets: unknown = place === 'item' ? await request('GET', path) : await requestFolderPresets(item);
  const otherPresets = (Array.isArray(storedPresets) ? (storedPresets as (Partial<Preset> | null)[]) : []).filter(
    (preset) => preset?.name !== name,
  );
  const style = JSON.parse(styleOf(channels)) as Pick<Preset, 'bands'>;
  const presets = [...otherPresets, { name, style }];
  if (place === 'item') await request('PUT', path, { json: presets });
  else {
    // The configuration is YAML, and every JSON text is YAML too.
    const text = `${JSON.stringify({ imageFramePresets: presets }, null, 2)}\n`;
    await request('PUT', `folder/${item.folderId}/yaml_config/${folderPresetsName}`, { text });
  }
  return { name, bands: style.bands };
}
