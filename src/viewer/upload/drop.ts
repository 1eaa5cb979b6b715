import { button, h, icon, messageOf, showMessage } from '../dom.js';
import { uploadTexts } from '../texts.js';

/** A file, and the path of folders below the target folder that contain it. */
export interface Upload {
  file: File;
  path: string[];
}

/** Buttons that open the file dialog: for files, and for a whole folder. */
export function uploadButtons(onUploads: (uploads: Upload[]) => void) {
  const input = h('input.visually-hidden', {
    type: 'file',
    multiple: true,
    tabindex: -1,
    'aria-label': uploadTexts.filesToUpload,
    onchange: () => {
      onUploads([...(input.files ?? [])].map((file) => ({ file, path: file.webkitRelativePath.split('/').slice(0, -1) })));
      // With an empty value, the user can select the same file again.
      input.value = '';
    },
  });
  const openDialog = (isFolder: boolean) => {
    input.webkitdirectory = isFolder;
    input.click();
  };
  const folderButton = button(uploadTexts.folder, () => openDialog(true), { icon: 'upload' });
  const filesButton = button(uploadTexts.files, () => openDialog(false), { icon: 'upload', kind: 'primary' });
  return [folderButton, filesButton, input];
}

/** Takes files and folders that are dropped anywhere on the page, until the signal aborts. */
export function acceptDrops(options: {
  /** name of the target folder */
  name: string;
  signal: AbortSignal;
  onUploads: (uploads: Upload[]) => void;
}) {
  const { name, signal, onUploads } = options;
  const hint = h('div.drop-hint.strong', { hidden: true }, h('div.column', icon('upload'), h('p', uploadTexts.drop(name))));
  document.body.append(hint);
  signal.addEventListener('abort', () => hint.remove(), { once: true });
  // Each element under the pointer reports enter and leave events. Files are over the page while there have been more enter than leave events.
  let enteredCount = 0;
  listenForFiles('dragenter', () => {
    enteredCount += 1;
    hint.hidden = false;
  });
  listenForFiles('dragleave', () => {
    enteredCount = Math.max(0, enteredCount - 1);
    hint.hidden = enteredCount === 0;
  });
  listenForFiles('dragover', () => {});
  listenForFiles('drop', (event) => {
    enteredCount = 0;
    hint.hidden = true;
    collectUploads(event.dataTransfer).then(
      (uploads) => uploads.length > 0 && onUploads(uploads),
      (error: unknown) => showMessage(messageOf(error)),
    );
  });

  function listenForFiles(type: 'dragenter' | 'dragover' | 'dragleave' | 'drop', listener: (event: DragEvent) => void) {
    const listen = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      listener(event);
    };
    addEventListener(type, listen, { signal });
  }
}

/** The dropped files, including the files in dropped folders. */
async function collectUploads(transfer: DataTransfer | null): Promise<Upload[]> {
  // The browser empties the list of items when the drop event is over.
  const droppedItems = [...(transfer?.items ?? [])].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const uploads: Upload[] = [];
  for (const { entry, file } of droppedItems) {
    if (entry?.isDirectory) uploads.push(...(await collectFiles(entry, [])));
    else if (file) uploads.push({ file, path: [] });
  }
  return uploads;
}

async function collectFiles(entry: FileSystemEntry, path: string[]): Promise<Upload[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ file, path }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const uploads: Upload[] = [];
  for (;;) {
    // A reader returns some entries at a time, and an empty list at the end.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return uploads;
    for (const child of entries) uploads.push(...(await collectFiles(child, [...path, entry.name])));
  }
}
