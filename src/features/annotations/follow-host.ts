import type { HostRecords } from '../../core/host/host-records.js';
import { idText } from '../../core/database/id-text.js';
import type { HostEvents } from '../../host.js';
import type { AnnotationServices } from './annotation-services.js';
import type { AnnotationModel } from './documents/annotation.model.js';
import type { OnClose } from '../../core/undo.js';

/** The data to keep up to date. */
interface Followed {
  annotations: AnnotationServices;
  model: AnnotationModel;
  records: HostRecords;
}

/** Updates annotations when the host's records change. @param onClose registers the steps that stop this. */
export function followHost(
  events: HostEvents,
  { annotations: { lifecycle, lists }, model, records }: Followed,
  onClose: OnClose,
): void {
  onClose(
    events.on('item.removed', async ({ item }) => {
      await lifecycle.discard(lists.all({ itemIds: [idText(item._id)], active: null }));
    }),
  );
  onClose(
    events.on('item.copied', async ({ source, item, userId, copyAnnotations }) => {
      if (copyAnnotations === false) return;
      await lifecycle.copyAll(idText(source._id), records.itemOf(item), userId ?? null);
    }),
  );
  onClose(
    events.on('file.saved', async ({ file, replacedAt }) => {
      const { itemId } = records.fileOf(file);
      if (replacedAt !== undefined && itemId !== null) await model.noteChangedFile(itemId, replacedAt);
    }),
  );
  onClose(events.on('user.removed', ({ userId }) => model.forget('users', userId)));
  onClose(events.on('group.removed', ({ groupId }) => model.forget('groups', groupId)));
}
