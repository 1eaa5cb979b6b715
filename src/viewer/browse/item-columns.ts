import { h } from '../dom.js';
import { showFormDialog, checkbox } from '../forms.js';
import { formatBytes, formatDate, shorten } from '../format.js';
import { browseTexts } from '../texts.js';
import type { Item } from './browse-model.js';
import { siteStorage } from '../storage.js';

/** Fields that every item has, and that can be columns. */
const recordFields = ['description', 'size', 'created', 'updated'] as const;

/** Maximum length of the text in a cell, in characters. */
const maxCellLength = 200;

const storageKey = (folderId: string) => `columns ${folderId}`;

/** The columns that the user has chosen in this browser, such as `meta.stain`; otherwise the default columns. */
export function chosenColumns(folderId: string, defaultColumns: string[]): string[] {
  try {
    const storedColumns: unknown = JSON.parse(siteStorage.get(storageKey(folderId)) ?? 'null');
    return Array.isArray(storedColumns) ? storedColumns.filter((column) => typeof column === 'string') : defaultColumns;
  } catch {
    return defaultColumns;
  }
}

export function columnTitle(column: string) {
  const field = recordFields.find((name) => name === column);
  return field ? browseTexts.fields[field] : column.replace(/^meta\./, '');
}

/** Columns for the metadata of these items. */
function metadataColumns(items: Item[]) {
  const keys = new Set(items.flatMap(({ meta }) => Object.keys(meta ?? {})));
  return [...keys].toSorted().map((key) => `meta.${key}`);
}

/** Asks which columns to show, and calls `onChosen` with them. */
export function askForColumns(options: {
  folderId: string;
  items: Item[];
  shownColumns: string[];
  onChosen: (columns: string[]) => void;
}) {
  const { folderId, items, shownColumns, onChosen } = options;
  const offeredColumns = [...new Set([...shownColumns, ...metadataColumns(items), ...recordFields])];
  const boxes = offeredColumns.map((column) => ({
    column,
    ...checkbox(columnTitle(column), { checked: shownColumns.includes(column) }),
  }));
  showFormDialog({
    title: browseTexts.columns,
    text: browseTexts.columnsHint,
    content: [
      h(
        'fieldset.stack.column.choices',
        h('legend.visually-hidden', browseTexts.columns),
        ...boxes.map(({ element }) => element),
      ),
    ],
    action: browseTexts.showColumns,
    async send() {
      const columns = boxes.filter(({ input }) => input.checked).map(({ column }) => column);
      siteStorage.set(storageKey(folderId), JSON.stringify(columns));
      onChosen(columns);
    },
  });
}

/** The content of a cell in the table of items. */
export function cellContent(item: Item, column: string) {
  if (column === 'size') return formatBytes(item.size ?? 0);
  if (column === 'created' || column === 'updated') return item[column] ? formatDate(item[column]) : '';
  if (column === 'description') return cellText(item.description);
  const value = item.meta?.[column.replace(/^meta\./, '')];
  const list = Array.isArray(value) && value.every((entry) => typeof entry !== 'object') ? value : null;
  return list ? h('span.row.wrap.tags', ...list.slice(0, 20).map((entry) => tagElement(String(entry)))) : cellText(value);
}

function tagElement(text: string) {
  return h('span.tag.clip', { title: text }, cellText(text));
}

function cellText(value: unknown) {
  if (value === undefined || value === null) return '';
  return shorten(typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean), maxCellLength);
}

/** The tags of an item. Values that are not texts are left out. */
export function tagsOf({ meta }: Pick<Item, 'meta'>): string[] {
  const { tags } = meta ?? {};
  return Array.isArray(tags) ? tags.filter((entry): entry is string => typeof entry === 'string') : [];
}
