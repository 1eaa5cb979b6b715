import { errorNotice, fill, h, linkButton, showPlainDialog } from '../../dom.js';
import { formatDate } from '../../format.js';
import { annotationTexts } from '../../annotation-texts.js';
import { listDeletedAnnotations, restoreVersion } from '../annotation-requests.js';
import { nameOf } from '../annotation-model.js';

/** A dialog that lists the deleted annotations of an item, newest first, and restores them. */
export function showDeletedAnnotations(itemId: string, onRestored: () => Promise<void>) {
  const rows = h('ul.plain-list', { 'aria-label': annotationTexts.deletedOnes });
  const notice = h('div');
  showPlainDialog(annotationTexts.deletedOnes, rows, notice);
  showErrorsOf(showDeleted);

  function showErrorsOf(run: () => Promise<void>) {
    void run().catch((error: unknown) => fill(notice, errorNotice(error)));
  }

  async function showDeleted() {
    const listItems = (await listDeletedAnnotations(itemId)).map((record) => {
      const name = nameOf(record);
      const description = annotationTexts.deletedWords(name, record._elementCount, formatDate(record.updated ?? record.created));
      const onRestore = () => showErrorsOf(() => restore(record));
      return h(
        'li.row.between',
        h('span.break', description),
        linkButton(annotationTexts.restore, onRestore, annotationTexts.restoreDeleted(name)),
      );
    });
    fill(rows, ...(listItems.length > 0 ? listItems : [h('li.quiet-text', annotationTexts.nothingDeleted)]));
  }

  async function restore(record: Parameters<typeof restoreVersion>[0]) {
    await restoreVersion(record, record._version);
    await Promise.all([showDeleted(), onRestored()]);
  }
}
