import { request } from '../api.js';
import { h, showMessage } from '../dom.js';
import { showFormDialog, checkbox } from '../forms.js';
import { browseTexts } from '../texts.js';
import { tagsOf } from './item-columns.js';
import type { ListEntry } from './edit-dialog.js';
import { idsByType } from './browse-model.js';

/** A form for the tags of several items and folders. A tag that only some of them have is not changed, unless the user checks or unchecks it. */
export function showTagsDialog(entries: ListEntry[], onSaved: () => Promise<void>) {
  const counts = new Map<string, number>();
  for (const { doc } of entries) for (const tag of new Set(tagsOf(doc))) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const boxes = [...counts].map(([tag, count]) => {
    const box = checkbox(tag, { checked: count === entries.length });
    box.input.indeterminate = count < entries.length;
    return { tag, ...box };
  });
  const legend = h('legend', browseTexts.tags);
  showFormDialog({
    title: browseTexts.tagsOf(entries.length),
    fields: [{ name: 'add', label: browseTexts.addTags, hint: browseTexts.addTagsHint }],
    content: [boxes.length > 0 && h('fieldset.stack.column.choices', legend, ...boxes.map(({ element }) => element))],
    action: browseTexts.saveTags,
    async send({ add: text = '' }) {
      const decidedBoxes = boxes.filter(({ input }) => !input.indeterminate);
      const checkedTags = decidedBoxes.flatMap(({ tag, input }) => (input.checked ? [tag] : []));
      const remove = decidedBoxes.flatMap(({ tag, input }) => (input.checked ? [] : [tag]));
      const typedTags = text.split(',').map((tag) => tag.trim());
      const parameters = {
        resources: idsByType(entries),
        add: [...checkedTags, ...typedTags].filter((tag) => tag !== ''),
        remove,
      };
      const form = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, JSON.stringify(value)]));
      await request('PUT', 'resource/tags', { form });
      await onSaved();
      showMessage(browseTexts.tagsSaved);
    },
  });
}
