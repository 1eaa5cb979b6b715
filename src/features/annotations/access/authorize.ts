import type { Caller } from '../../../host.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { AnnotationContext } from '../context.js';

interface Request {
  params: { id: string };
  caller: Caller | null;
}

/** Loads the annotation in the path, if the caller may read it. */
export function loadToRead(
  { params, caller }: Request,
  { annotations }: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<AnnotationRecord> {
  return annotations.writer.load(params.id, 0, caller);
}

/** Loads the annotation in the path, if the caller may change it. */
export function loadToChange(
  { params, caller }: Request,
  { annotations }: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<AnnotationRecord> {
  return annotations.writer.loadForChange({ id: params.id, caller });
}

/** Loads an item, if the caller may annotate it. */
export async function loadToAnnotate(
  itemId: string,
  caller: Caller | null,
  { items, annotations }: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<ItemRecord> {
  const item = await items.loadFresh(itemId, 0, caller);
  await annotations.permissions.requireAnnotate(item, caller);
  return item;
}
