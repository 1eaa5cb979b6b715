import { announce, button, h, messageOf, type Child } from '../../dom.js';
import { annotationTexts } from '../../texts.js';
import { importAnnotations } from '../requests.js';

/**
 * A button that imports annotations from files: documents of this server, GeoJSON, and files of QuPath. Files can also be dropped on the targets. Each
 * file is imported completely or not at all.
 */
export function importControls(options: {
  itemId: string;
  targets: HTMLElement[];
  /** shows errors */
  say: (...words: Child[]) => void;
  onImported: () => Promise<void>;
  signal: AbortSignal;
}) {
  const { itemId, targets, say, onImported, signal } = options;
  const input = h('input', { type: 'file', accept: '.json,.geojson', multiple: true, hidden: true, onchange: taken });
  const dropped = (event: DragEvent) => {
    event.preventDefault();
    if (event.type === 'drop') void take([...(event.dataTransfer?.files ?? [])]);
  };
  for (const target of targets)
    for (const type of ['dragover', 'drop'] as const) target.addEventListener(type, dropped, { signal });
  return [button(annotationTexts.import, () => input.click(), { picture: 'upload' }), input];

  function taken() {
    void take([...(input.files ?? [])]);
    // Allows selecting the same file again.
    input.value = '';
  }

  async function take(files: File[]) {
    say();
    const reasons: string[] = [];
    for (const file of files) {
      try {
        const count = await importAnnotations(itemId, await withoutMark(file));
        if (count === 0) throw new Error(annotationTexts.importedNone);
        announce(annotationTexts.imported(file.name, count));
      } catch (error) {
        reasons.push(`${file.name}: ${messageOf(error)}`);
      }
      say(...reasons.map((reason) => h('p', reason)));
    }
    await onImported().catch((error: unknown) => say(messageOf(error)));
  }
}

/** Removes a byte order mark, which some programs write but JSON does not allow. */
async function withoutMark(file: File) {
  const start = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  return start.join() === '239,187,191' ? new File([file.slice(3)], file.name) : file;
}
