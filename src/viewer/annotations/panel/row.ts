import { button, h, linkButton } from '../../dom.js';
import { formatCount } from '../../format.js';
import { annotationTexts } from '../../texts.js';
import { nameOf, type AnnotationRecord } from '../model.js';
import { recordDialog } from './record-dialog.js';

interface RowOptions {
  isVisible: boolean;
  isEdited: boolean;
  /** controls for editing */
  editor: HTMLElement | null;
  legend: HTMLElement | null;
  /** the newest known version of the annotation */
  latest: () => AnnotationRecord;
  onShow: (visible: boolean) => void;
  /** begins or ends editing */
  onEdit: () => void;
  onRestored: () => Promise<void>;
  onRename: () => void;
  onRemove: () => void;
}

/** An annotation in the list. Its controls have keys, by which they are found again in another row of the same annotation. */
export function annotationRow(record: AnnotationRecord, options: RowOptions) {
  const { _id: id, _elementCount: count } = record;
  const { isEdited, latest, onShow, onEdit, onRestored, onRename, onRemove } = options;
  const name = nameOf(record);
  const mayEdit = record._accessLevel >= 1;
  const box = h('input', { type: 'checkbox', checked: options.isVisible, onchange: () => onShow(box.checked) });
  const download = button('', () => recordDialog(latest(), mayEdit, onRestored), {
    picture: 'download',
    name: annotationTexts.downloadNamed(name),
  });
  const editName = (isEdited ? annotationTexts.stopEditing : annotationTexts.editNamed)(name);
  const pencil = button('', onEdit, { picture: 'pencil', name: editName, isPressed: isEdited });
  for (const [what, control] of Object.entries({ box, download, pencil })) control.dataset.key = `${what} ${id}`;
  return h(
    'li',
    { class: isEdited ? 'annotation edited' : 'annotation' },
    h(
      'div.annotation-row.row',
      h('label.row.grow', { title: record.annotation.description ?? name }, box, h('span.annotation-name.clip', name)),
      h('span.count.quiet-text.small', { title: annotationTexts.shapes(count) }, formatCount(count)),
      download,
      mayEdit && pencil,
    ),
    options.legend,
    options.editor,
    isEdited &&
      h(
        'div.annotation-whole.row',
        linkButton(annotationTexts.renameAnnotation, onRename),
        linkButton(annotationTexts.deleteAnnotation, onRemove),
      ),
  );
}
