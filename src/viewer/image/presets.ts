import { isLinked, request } from '../api.js';
import type { ImageItem } from '../browse/model.js';
import { applyPreset, presetsOf, styleOf, type Channel, type Preset } from './channels.js';

/** Loads the presets of an image with channels, and the one that is selected at first by the folder's configuration, if any. */
export async function loadPresets(item: ImageItem, known: Channel[], signal: AbortSignal) {
  // Links do not open the presets, and addresses with a link name the channels.
  if (known.length === 0 || isLinked()) return { presets: [], firstShown: known };
  // If one of these is missing, or the user may not read it, there are fewer presets.
  const [settings, kept, internal] = await Promise.all([
    request('GET', `folder/${item.folderId}/yaml_config/.large_image_config.yaml`, { signal }).catch(() => null),
    request('GET', `item/${item._id}/internal_metadata/presets`, { signal }).catch(() => null),
    request('GET', `item/${item._id}/tiles/internal_metadata`, { signal }).catch(() => null),
  ]);
  const { imageFramePresets, imageFramePresetDefaults } = (settings ?? {}) as Record<string, unknown>;
  const presets = presetsOf({ configured: imageFramePresets, kept, omero: internal?.omero });
  const defaults = Array.isArray(imageFramePresetDefaults) ? imageFramePresetDefaults : [];
  const first = presets.find(({ name }) => defaults.some((entry: { name?: string }) => entry?.name === name));
  return { presets, firstShown: first ? applyPreset(first, known) : known };
}

/** Stores the channels as a preset of an item, in place of one with the same name. */
export async function savePreset(itemId: string, name: string, channels: Channel[]): Promise<Preset> {
  const path = `item/${itemId}/internal_metadata/presets` as const;
  const kept = await request('GET', path);
  const others = (Array.isArray(kept) ? (kept as (Partial<Preset> | null)[]) : []).filter((preset) => preset?.name !== name);
  const style = JSON.parse(styleOf(channels)) as Pick<Preset, 'bands'>;
  await request('PUT', path, { json: [...others, { name, style }] });
  return { name, bands: style.bands };
}
