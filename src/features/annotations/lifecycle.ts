import type { HostEvents } from '../../host.js';
import { idText } from '../../core/id-text.js';
import type { AnnotationServices } from './annotation-services.js';
import type { AnnotationUploads } from './upload/uploads.js';
import type { AnnotationsOptions } from './documents/writer.js';

/** Keeps annotations in step with what happens in the host, until the returned function is called. */
export function followHost(
  events: HostEvents,
  { whole, lists }: AnnotationServices,
  { model, records, uploads }: Pick<AnnotationsOptions, 'model' | 'records'> & { uploads: AnnotationUploads },
): () => void {
  const offs = [
    events.on('item.removed', async ({ item }) => {
      await whole.discard(lists.all({ itemIds: [idText(item._id)], active: null }));
    }),
    events.on('item.copied', async ({ source, item, userId, copyAnnotations }) => {
      if (copyAnnotations === false) return;
      await whole.copyAll(idText(source._id), records.itemOf(item), userId ?? null);
    }),
    events.on('upload.finished', (upload) => uploads.finished(upload)),
    events.on('user.removed', ({ userId }) => model.forget('users', userId)),
    events.on('group.removed', ({ groupId }) => model.forget('groups', groupId)),
  ];
  return () => {
    for (const off of offs) off();
  };
}
