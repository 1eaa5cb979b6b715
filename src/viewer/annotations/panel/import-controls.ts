import { button, h, messageOf, showMessage, type Child } from '../../dom.js';
import { annotationTexts } from '../../annotation-texts.js';
import { importAnnotations, importTable, tableTypeOf } from '../annotation-requests.js';

/**
 * A button that imports annotations from files: documents of this server, GeoJSON, files of QuPath, and tables of shapes (GeoParquet, Arrow). Files can also be dropped on the targets. Each
 * file is imported completely or not at all.
 */
export function importControls(options: {
  itemId: string;
  targets: HTMLElement[];
  /** shows errors; without arguments, removes them */
  showProblem: (...words: Child[]) => void;
  onImported: () => Promise<void>;
  signal: AbortSignal;
}) {
  const { itemId, targets, showProblem, onImported, signal } = options;
  const input = h('input', {
    type: 'file',
    accept: '.json,.geojson,.parquet,.arrow,.arrows',
    multiple: true,
    hidden: true,
    onchange: importChosenFiles,
  });
  const onDrag = (event: DragEvent) => {
    event.preventDefault();
    if (event.type === 'drop') void importFiles([...(event.dataTransfer?.files ?? [])]);
  };
  for (const target of targets)
    for (const type of ['dragover', 'drop'] as const) target.addEventListener(type, onDrag, { signal });
  return [button(annotationTexts.import, () => input.click(), { icon: 'upload' }), input];

  function importChosenFiles() {
    void importFiles([...(input.files ?? [])]);
    // With an empty value, the user can select the same file again.
    input.value = '';
  }

  async function importFiles(files: File[]) {
    showProblem();
    const reasons: string[] = [];
    for (const file of files) {
      try {
        const type = await tableTypeOf(file);
        const count = await (type === null ? importAnnotations(itemId, await toUtf8Json(file)) : importTable(itemId, file, type));
        if (count === 0) throw new Error(annotationTexts.importedNone);
        showMessage(annotationTexts.imported(file.name, count));
      } catch (error) {
        reasons.push(`${file.name}: ${messageOf(error)}`);
      }
      showProblem(...reasons.map((reason) => h('p', reason)));
    }
    await onImported().catch((error: unknown) => showProblem(messageOf(error)));
  }
}

/** Bytes at the start of a file that mark UTF-16 text. */
const utf16EncodingByMark: Record<string, string> = { '255,254': 'utf-16le', '254,255': 'utf-16be' };

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The text of a file in UTF-8, without the byte order mark that some programs write but JSON does not allow.
 *
 * @throws if the file contains no JSON object or list. The server would refuse the file too, but the server's message is not meant for users
 */
async function toUtf8Json(file: File): Promise<File> {
  const firstBytes = new Uint8Array(await file.slice(0, 4096).arrayBuffer());
  const encoding = utf16EncodingByMark[firstBytes.subarray(0, 2).join()] ?? 'utf-8';
  // The last character may be cut off, which the option `stream` allows.
  const text = new TextDecoder(encoding).decode(firstBytes, { stream: true });
  if (!/^\s*[[{]/.test(text)) {
    const isOtherJson = file.size <= firstBytes.length && isJson(text);
    throw new Error(isOtherJson ? annotationTexts.importedNone : annotationTexts.importedNoJson);
  }
  const hasByteOrderMark = firstBytes.subarray(0, 3).join() === '239,187,191';
  try {
    if (encoding !== 'utf-8' || hasByteOrderMark) {
      return new File([new TextDecoder(encoding, { fatal: true }).decode(await file.arrayBuffer())], file.name);
    }
    // The text is only checked, one chunk after another, so that a long file is not kept in memory.
    const reader = file
      .stream()
      .pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
      .getReader();
    while (!(await reader.read()).done);
  } catch (error) {
    throw error instanceof TypeError ? new Error(annotationTexts.importedNoUtf8) : error;
  }
  return file;
}
