import type { Settings } from '../settings/settings.js';
import type { Person } from './merge-yaml.js';

/** A column of an item list, as clients read it. */
interface Column {
  type: 'image' | 'record';
  value: string;
  title: string;
}

const standardColumns: readonly Column[] = [
  { type: 'record', value: 'name', title: 'Name' },
  { type: 'record', value: 'updated', title: 'Updated' },
  { type: 'record', value: 'size', title: 'Size' },
  { type: 'record', value: 'controls', title: 'Controls' },
];

/** The item lists of a folder whose configuration does not define any. */
export async function loadDefaultLists(
  settings: Settings,
  { login, admin }: Person,
): Promise<Record<string, { columns: Column[] }>> {
  const columns: Column[] = [];
  if ((await settings.get('large_image.show_thumbnails')) !== false) {
    columns.push({ type: 'image', value: 'thumbnail', title: 'Thumbnail' });
  }
  const extraImagesText = await settings.get(`large_image.show_extra${login === null ? '_public' : admin ? '_admin' : ''}`);
  for (const value of extraImagesOf(extraImagesText)) columns.push({ type: 'image', value, title: capitalizeWords(value) });
  columns.push(...standardColumns);
  return { itemList: { columns }, itemListDialog: { columns: columns.slice(0, -1) } };
}

function extraImagesOf(text: unknown): string[] {
  if (typeof text !== 'string' || text === '') return [];
  // When the setting was written, it was checked to be the text of an object.
  const { images } = JSON.parse(text) as { images?: unknown };
  return Array.isArray(images) ? images.filter((name): name is string => typeof name === 'string' && name !== '*') : [];
}

function capitalizeWords(value: string): string {
  return value.toLowerCase().replace(/\p{L}+/gu, (word) => word[0]!.toUpperCase() + word.slice(1));
}
