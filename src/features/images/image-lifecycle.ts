import type { HostEvents } from '../../host.js';
import { idText } from '../../core/id-text.js';
import type { Callers } from '../items/callers.js';
import type { Images } from './images.js';
import type { Items } from '../items/items.js';

/** Keeps large images and cached verdicts as the host's events demand. @returns what ends it. */
export function followImages(
  events: HostEvents,
  { items, callers, images }: { items: Items; callers: Callers; images: Images },
): () => void {
  const offs = [
    events.on('item.saved', ({ item }) => items.forget(idText(item._id))),
    events.on('item.removed', ({ item }) => images.itemRemoved(item)),
    events.on('item.copied', ({ item, fileIds }) => images.itemCopied(item, fileIds)),
    events.on('file.saved', ({ file, created }) => images.fileSaved(file, created)),
    events.on('file.removed', ({ file }) => images.fileRemoved(file)),
    events.on('folder.saved', () => items.forget()),
    events.on('folder.removed', () => items.forget()),
    events.on('access.changed', () => {
      items.forget();
      callers.forget();
    }),
    events.on('token.revoked', ({ token }) => callers.forget(token)),
  ];
  return () => {
    for (const off of offs) off();
  };
}
