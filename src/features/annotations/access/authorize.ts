import type { Caller } from '../../../host.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { AnnotationContext } from '../context.js';

interface PathRequest {
  params: { id: string };
  caller: Caller | null;
}

/** Loads the annotation in the path. @throws an error if the caller may not read the annotation. */
export function loadToRead(
  { params, caller }: PathRequest,
  { annotations }: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<AnnotationRecord> {
  return annotations.writer.load(params.id, 0, caller);
}

/** Loads the annotation in the path. @throws an error if the caller may not change the annotation. */
export function loadToChange(
  { params, caller }: PathRequest,
  { annotations }: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<AnnotationRecord> {
  return annotations.writer.loadForChange({ id: params.id, caller });
}

/** Loads an item. @throws an error if the caller may not annotate the item. */
export async function loadToAnnotate(
  itemId: string,
  caller: Caller | null,
  { items, annotations }: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<ItemRecord> {
  const item = await items.loadFresh(itemId, 0, caller);
  await annotations.permissions.requireAnnotate(item, caller);
  return item;
}
