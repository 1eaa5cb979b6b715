import type { HostRecords } from '../../core/host/host-records.js';
import { batches } from '../../core/database/id-batches.js';
import { onItemsRemoved } from '../../core/host/host-events.js';
import { idText } from '../../core/database/id-text.js';
import type { HostEvents, StoredDocument } from '../../host.js';
import type { AnnotationServices } from './annotation-services.js';
import type { AnnotationModel } from './documents/annotation.model.js';
import type { OnClose } from '../../core/undo.js';

/** The services that react to changes of the host's records. */
interface ReactingServices {
  annotations: AnnotationServices;
  model: AnnotationModel;
  records: HostRecords;
}

/** Updates annotations when the host's records change. @param onClose registers the functions that end the event subscriptions. */
export function followHost(
  events: HostEvents,
  { annotations: { lifecycle, lists }, model, records }: ReactingServices,
  onClose: OnClose,
): void {
  const idsOf = (items: readonly StoredDocument[]) => items.map(({ _id }) => idText(_id));
  onClose(
    onItemsRemoved(events, async (items) => {
      for (const itemIds of batches(idsOf(items))) {
        await lifecycle.removeAll(lists.listAll({ itemIds, active: null }));
        // The annotations of hidden items are hidden. The item no longer exists, so the history of its annotations can be read again.
        await model.setHidden(itemIds, false);
      }
    }),
  );
  onClose(events.on('item.hidden', ({ items }) => model.setHidden(idsOf(items), true)));
  onClose(events.on('item.shown', ({ items }) => model.setHidden(idsOf(items), false)));
  onClose(
    events.on('item.copied', async ({ source, item, userId, copyAnnotations }) => {
      if (copyAnnotations === false) return;
      await lifecycle.copyAll(idText(source._id), records.itemOf(item), userId ?? null);
    }),
  );
  onClose(
    events.on('file.saved', async ({ file, replacedAt }) => {
      const { itemId } = records.fileOf(file);
      if (replacedAt !== undefined && itemId !== null) await model.markFileChanged(itemId, replacedAt);
    }),
  );
  onClose(events.on('user.removed', ({ userId }) => model.forgetUserOrGroup('users', userId)));
  onClose(events.on('group.removed', ({ groupId }) => model.forgetUserOrGroup('groups', groupId)));
}
