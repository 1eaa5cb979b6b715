import { apiUrl, requestList, saveFile } from '../../api.js';
import { showShareDialog } from '../../browse/share-dialog.js';
import { actions, button, errorNotice, fill, h, linkButton, showPlainDialog } from '../../dom.js';
import { formatDate } from '../../format.js';
import { commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';
import { restoreVersion } from '../annotation-requests.js';
import { nameOf, type AnnotationRecord } from '../annotation-model.js';

/** Formats in which an annotation can be saved, with the last part of the address, the text of the button and the extension of the file. */
const formats = [
  ['', 'asItIs', 'json'],
  ['/geojson', 'geoJson', 'geojson'],
  ['/qupath', 'forQuPath', 'qupath.geojson'],
] as const;

/** A dialog that offers an annotation as a file, and its previous versions. */
export function showRecordDialog(record: AnnotationRecord, mayEdit: boolean, onRestored: () => Promise<void>) {
  const { _id: id } = record;
  const name = nameOf(record);
  const notice = h('div');
  const versionList = h('ul.plain-list', { 'aria-label': annotationTexts.versions });
  const buttons = formats.map(([routeEnd, format, extension]) => {
    const onclick = withErrorsShown(() => saveFile(apiUrl(`annotation/${id}${routeEnd}`), `${name}.${extension}`));
    return h('button.button', { onclick }, annotationTexts[format]);
  });
  const dialog = showPlainDialog(
    name,
    h('h3', commonTexts.download),
    actions(buttons),
    record._accessLevel >= 2 && actions(button(commonTexts.share, share, { icon: 'people' })),
    h('h3', annotationTexts.versions),
    versionList,
    notice,
  );
  withErrorsShown(showVersions)();

  function withErrorsShown(run: () => Promise<void>) {
    return () => void run().catch((error: unknown) => fill(notice, errorNotice(error)));
  }

  async function showVersions() {
    const { entries } = await requestList(`annotation/${id}/history`, { query: { limit: 50 } });
    const newestVersion = entries[0]?._version;
    const rows = entries.map(({ _version: version, updated, created }) => {
      const isNewest = version === newestVersion;
      const versionText = annotationTexts.versionOf(isNewest ? null : version, formatDate(updated ?? created));
      const onRestore = withErrorsShown(() => restore(version));
      const restoreButton = linkButton(annotationTexts.restore, onRestore, annotationTexts.restoreVersion(version));
      return h('li.row.between', h('span', versionText), mayEdit && !isNewest && restoreButton);
    });
    fill(versionList, ...rows);
  }

  function share() {
    dialog.close();
    const isPublic = record.public === true;
    showShareDialog({ path: `annotation/${id}`, name, isPublic, onSaved: onRestored });
  }

  async function restore(version: number) {
    await restoreVersion(record, version);
    dialog.close();
    await onRestored();
  }
}
