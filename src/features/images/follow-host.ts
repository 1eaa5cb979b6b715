import type { HostEvents } from '../../host.js';
import type { Images } from './images.js';
import type { OnClose } from '../../core/undo.js';

/** Keeps large images in step with the host's items and files. @param onClose takes the steps that end it. */
export function followHost(events: HostEvents, images: Images, onClose: OnClose): void {
  onClose(events.on('item.removed', ({ item }) => images.itemRemoved(item)));
  onClose(events.on('item.copied', ({ item, fileIds }) => images.itemCopied(item, fileIds)));
  onClose(events.on('file.saved', ({ file, created }) => images.fileSaved(file, created)));
  onClose(events.on('file.removed', ({ file }) => images.fileRemoved(file)));
}
