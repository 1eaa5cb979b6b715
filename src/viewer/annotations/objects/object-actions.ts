import { isOpenedByLink } from '../../api.js';
import { actions, button, showMessage } from '../../dom.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import { nameOf } from '../model.js';
import type { ObjectsContext } from './objects-context.js';
import { copyToAnnotation, saveTable, type ObjectFilter } from './requests.js';

interface ObjectActionsOptions extends ObjectsContext {
  /** the filter for the shapes that are saved or copied */
  filter: () => ObjectFilter | null;
  itemId: string;
  /** whether the user may create annotations of this item */
  mayCreate: boolean;
  /** called when an annotation was created */
  onCreated: () => Promise<unknown>;
}

/** Buttons that save shapes as files, and that copy them to a new annotation. */
export function objectActions({ record, filter, itemId, mayCreate, onCreated, run, signal }: ObjectActionsOptions) {
  const downloads = (['csv', 'parquet'] as const).map((kind) =>
    button(objectTexts[kind], () => void run(() => saveTable(record(), filter(), kind, nameOf(record()))), {
      icon: 'download',
    }),
  );
  const copyButton = mayCreate && button(objectTexts.newAnnotation, () => void run(copy), { icon: 'plus' });
  return actions(...(isOpenedByLink() ? [] : downloads), copyButton);

  async function copy() {
    const name = objectTexts.newName(nameOf(record()));
    await copyToAnnotation(record(), filter(), { itemId, name });
    if (signal.aborted) return;
    await onCreated();
    showMessage(annotationTexts.created(name));
  }
}
