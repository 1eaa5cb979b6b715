import { isOpenedByLink } from '../../api.js';
import { actions, button, showMessage } from '../../dom.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import { nameOf } from '../annotation-model.js';
import type { ObjectsContext } from './objects-context.js';
import { copyToAnnotation, saveTable, type ObjectFilter } from './object-requests.js';

interface ObjectActionsOptions extends ObjectsContext {
  /** the filter for the shapes that are saved or copied */
  currentFilter: () => ObjectFilter | null;
  itemId: string;
  /** whether the user may create annotations of this item */
  mayCreate: boolean;
  /** called when an annotation was created */
  onCreated: () => Promise<unknown>;
}

/** Buttons that save shapes as files, and that copy them to a new annotation. */
export function objectActions({ currentRecord, currentFilter, itemId, mayCreate, onCreated, run, signal }: ObjectActionsOptions) {
  const downloads = (['csv', 'parquet'] as const).map((kind) =>
    button(objectTexts[kind], () => void run(() => saveTable(currentRecord(), currentFilter(), kind, nameOf(currentRecord()))), {
      icon: 'download',
    }),
  );
  const copyButton = mayCreate && button(objectTexts.newAnnotation, () => void run(copy), { icon: 'plus' });
  return actions(...(isOpenedByLink() ? [] : downloads), copyButton);

  async function copy() {
    const name = objectTexts.newName(nameOf(currentRecord()));
    await copyToAnnotation(currentRecord(), currentFilter(), { itemId, name });
    if (signal.aborted) return;
    await onCreated();
    showMessage(annotationTexts.created(name));
  }
}
