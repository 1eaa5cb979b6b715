import { csvField, collectPlotGroups, type PlotField, type PlotGroup, type PlotValue } from './fields.js';
import { aliasOf, type CommonKey, type PlotColumn } from './columns.js';
import { folderRow, PlotTable, type PlotRows, type RowKey } from './table.js';
import type { Caller, HostAccess } from '../../../host.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../../core/host/records.js';
import type { AnnotationServices } from '../annotation-services.js';
import { ElementBoxes } from './boxes.js';
import { isDataFile, type DataFiles } from './files.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';

/** The sources of plottable values. */
export const plotSources = ['folder', 'item', 'annotation', 'annotationelement', 'datafile'] as const;
export type PlotSource = (typeof plotSources)[number];

/** A request for data to plot. */
export interface PlotRequest {
  item: ItemRecord;
  /** Other items of the folder that are included. `images` includes the large images, `all` includes all items. */
  adjacent: 'none' | 'images' | 'all';
  /** Ids of annotations of the item, or `all`. Adjacent items contribute their annotations of the same names. */
  annotations: readonly string[] | 'all';
  sources: ReadonlySet<PlotSource>;
}

/** Maximum number of items that are read from a folder. */
const maxItems = 1000;
/** An annotation with more elements than this is included without its elements. */
const maxElements = 25_000;
/** Maximum number of elements of all annotations together. Further annotations are included without their elements. */
const maxTotalElements = 500_000;
/** Maximum number of rows that are read from a file to find its columns. */
const maxRowsForColumns = 50;

/** Options of {@link PlotData}. */
export interface PlotDataOptions {
  records: HostRecords;
  access: HostAccess;
  annotations: Pick<AnnotationServices, 'lists' | 'store'>;
  dataFiles: DataFiles;
}

/** The caller, and the signal that cancels the work. */
interface RequestContext {
  caller: Caller | null;
  signal: AbortSignal;
}

/** An item and its annotations that are included. */
interface PlotItem {
  item: ItemRecord;
  annotations: AnnotationRecord[];
}

/** Reads values of items, annotations, elements and files as columns and rows. */
export class PlotData {
  constructor(private readonly options: PlotDataOptions) {}

  /** Lists the columns that have values. */
  async listColumns(request: PlotRequest, context: RequestContext): Promise<PlotColumn[]> {
    const table = new PlotTable();
    await new PlotCollector(this.options, table, request, context, maxRowsForColumns).collect();
    return table.columns();
  }

  /** Reads the values of some columns. Rows without a value in a required column are left out. */
  async readRows(
    request: PlotRequest,
    { keys, requiredKeys }: { keys: readonly string[]; requiredKeys: readonly string[] },
    context: RequestContext,
  ): Promise<PlotRows> {
    const table = new PlotTable([...keys, ...requiredKeys]);
    await new PlotCollector(this.options, table, request, context).collect();
    return table.rows(keys, requiredKeys, context.signal);
  }
}

/** Adds the values of one request to a table. */
class PlotCollector {
  #elementCount = 0;
  #items: readonly PlotItem[] = [];

  constructor(
    private readonly options: PlotDataOptions,
    private readonly table: PlotTable,
    private readonly request: PlotRequest,
    private readonly context: RequestContext,
    private readonly rowLimit?: number,
  ) {}

  async collect(): Promise<void> {
    const { sources, item } = this.request;
    this.#items = await this.#findItems();
    if (sources.has('folder')) await this.#addFolder(item);
    for (const plotItem of this.#items) {
      this.context.signal.throwIfAborted();
      await this.#addItem(plotItem);
    }
  }

  async #findItems(): Promise<PlotItem[]> {
    const { records, access } = this.options;
    const { item, adjacent, annotations: requestedIds } = this.request;
    const ownAnnotations = await this.#annotationsOf(item);
    const includedAnnotations =
      requestedIds === 'all' ? ownAnnotations : ownAnnotations.filter(({ id }) => requestedIds.includes(id));
    const items: PlotItem[] = [{ item, annotations: includedAnnotations }];
    if (adjacent === 'none' || item.folderId === '') return items;
    const filter = await access.filter(this.context.caller, 'item', 0);
    const names = new Set(includedAnnotations.map(({ head }) => head.name));
    const options = { filter, imagesOnly: adjacent === 'images', limit: maxItems };
    for (const sibling of await records.findSiblingItems(item, options)) {
      this.context.signal.throwIfAborted();
      const annotations = await this.#annotationsOf(sibling);
      items.push({ item: sibling, annotations: requestedIds === 'all' ? annotations : latestByName(annotations, names) });
    }
    return items;
  }

  async #annotationsOf(item: ItemRecord): Promise<AnnotationRecord[]> {
    const { annotations: requestedIds, sources } = this.request;
    const needsAnnotations = sources.has('annotation') || sources.has('annotationelement') || sources.has('datafile');
    if (!needsAnnotations || (requestedIds !== 'all' && requestedIds.length === 0)) return [];
    const annotations: AnnotationRecord[] = [];
    for await (const annotation of this.options.annotations.lists.listInItem(item.id, this.context.caller))
      annotations.push(annotation);
    return annotations;
  }

  async #addFolder(item: ItemRecord): Promise<void> {
    const { records, access } = this.options;
    const folder = item.folderId === '' ? null : await records.findFolder(item.folderId);
    if (folder === null || (await access.level(this.context.caller, { type: 'folder', doc: folder.doc })) < 0) return;
    await this.#addDictionary(records.metadataOf(folder), folderRow);
  }

  async #addItem({ item, annotations }: PlotItem): Promise<void> {
    const { records } = this.options;
    const { sources } = this.request;
    const row: RowKey = { ...folderRow, itemId: item.id };
    if (sources.has('item')) {
      this.table.addCommon('item.id', row, item.id);
      this.table.addCommon('item.name', row, item.name);
      this.table.addCommon('item.description', row, textOrNull(item.doc.description));
      await this.#addDictionary(records.metadataOf(item), row);
    }
    const files = sources.has('datafile')
      ? (await records.findFilesOfItem(item)).filter((file) => this.#isPlottableFile(item, file))
      : [];
    const boxes = new ElementBoxes();
    for (const annotation of annotations) {
      const annotationRow = { ...row, annotationId: annotation.id };
      if (sources.has('annotation')) await this.#addAnnotation(annotation, annotationRow);
      if (sources.has('annotationelement') || files.length > 0) {
        await this.#addElements(annotation, annotationRow, files.length > 0 ? boxes : null);
      }
    }
    for (const file of files) {
      await this.#addFile(file, row, boxes);
    }
  }

  async #addFile(file: FileRecord, row: RowKey, boxes: ElementBoxes): Promise<void> {
    const { signal } = this.context;
    const keys = this.table.keys;
    const { rowCount, columns } = await this.options.dataFiles.read(file, { keys, limit: this.rowLimit, signal });
    for (let index = 0; index < rowCount; index++) {
      const values: PlotGroup['values'] = [];
      for (const { name, values: cells } of columns) {
        const value = cells[index] ?? null;
        if (value !== null) values.push({ field: csvField(name, index), value });
      }
      this.#addGroup({ index, values }, row, boxes);
      if (isSliceOver()) await nextSlice(signal);
    }
  }

  #isPlottableFile(item: ItemRecord, file: Parameters<typeof isDataFile>[0]): boolean {
    return isDataFile(file) && file.id !== item.largeImage?.fileId && file.id !== item.largeImage?.originalId;
  }

  async #addAnnotation({ id, head }: AnnotationRecord, row: RowKey): Promise<void> {
    this.table.addCommon('annotation.id', row, id);
    this.table.addCommon('annotation.name', row, head.name);
    this.table.addCommon('annotation.description', row, head.description);
    await this.#addDictionary(head.attributes, row);
  }

  async #addElements({ elements }: AnnotationRecord, annotationRow: RowKey, boxes: ElementBoxes | null): Promise<void> {
    if (elements.count > maxElements || this.#elementCount + elements.count > maxTotalElements) return;
    this.#elementCount += elements.count;
    const isPlotted = this.request.sources.has('annotationelement');
    const { signal } = this.context;
    for await (const { element, box } of this.options.annotations.store.scan(elements, { signal })) {
      // Every stored element has an id.
      const row: RowKey = { ...annotationRow, elementId: element.id! };
      boxes?.add(row, box);
      if (isSliceOver()) await nextSlice(signal);
      if (!isPlotted) continue;
      this.table.addCommon('annotationelement.id', row, element.id);
      this.table.addCommon('annotationelement.group', row, element.group);
      this.table.addCommon('annotationelement.label', row, element.label?.value);
      this.table.addCommon('annotationelement.type', row, element.type);
      this.table.addCommon('bbox.x0', row, box.lowx);
      this.table.addCommon('bbox.y0', row, box.lowy);
      this.table.addCommon('bbox.x1', row, box.highx);
      this.table.addCommon('bbox.y1', row, box.highy);
      await this.#addDictionary(element.user, row);
    }
  }

  async #addDictionary(dictionary: unknown, row: RowKey): Promise<void> {
    const { signal } = this.context;
    for (const group of await collectPlotGroups(dictionary, signal)) {
      this.#addGroup(group, row, null);
      if (isSliceOver()) await nextSlice(signal);
    }
  }

  /** Adds values that belong to one row. Some of the values may identify the item, or the box of the element, that the other values describe. */
  #addGroup({ index, values }: PlotGroup, subjectRow: RowKey, boxes: ElementBoxes | null): void {
    const fields: { field: PlotField; value: PlotValue }[] = [];
    const box = new Map<CommonKey, number>();
    let row: RowKey = { ...subjectRow, index };
    for (const entry of values) {
      const alias = aliasOf(entry.field);
      if (alias === 'item.id' || alias === 'item.name') {
        const item = this.#itemNamed(String(entry.value), alias);
        // Values are left out if they describe an item that is not included.
        if (item === null) return;
        if (item.id !== row.itemId) row = { ...folderRow, itemId: item.id, index };
      } else if (alias !== null && typeof entry.value === 'number') box.set(alias, entry.value);
      else fields.push(entry);
    }
    const element = boxes === null || row.itemId !== subjectRow.itemId ? null : boxes.takeNearest(box);
    if (element !== null) row = element;
    else for (const [key, value] of box) this.table.addCommon(key, row, value);
    for (const { field, value } of fields) this.table.addField(field, row, value);
  }

  /** Finds the included item with this id, name, or name without extension. If there are several, the first item is returned. */
  #itemNamed(text: string, alias: 'item.id' | 'item.name'): ItemRecord | null {
    this.#itemsByText ??= mapItemsByText(this.#items);
    return this.#itemsByText[alias].get(text) ?? this.#itemsByText['item.name'].get(text) ?? null;
  }

  #itemsByText: Record<'item.id' | 'item.name', Map<string, ItemRecord>> | null = null;
}

function mapItemsByText(items: readonly PlotItem[]) {
  const byId = new Map<string, ItemRecord>();
  const byName = new Map<string, ItemRecord>();
  for (const { item } of items) byId.set(item.id, item);
  // A complete name takes precedence over a name without extension, and an earlier item takes precedence over a later item.
  for (const { item } of items) if (!byName.has(item.name)) byName.set(item.name, item);
  for (const { item } of items) {
    const shortName = item.name.replace(/\.[^.]*$/, '');
    if (!byName.has(shortName)) byName.set(shortName, item);
  }
  return { 'item.id': byId, 'item.name': byName };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Finds the annotation of each of these names. If several annotations have the same name, the annotation that was changed last is returned. */
function latestByName(annotations: readonly AnnotationRecord[], names: ReadonlySet<string | undefined>): AnnotationRecord[] {
  const latest = new Map<string | undefined, AnnotationRecord>();
  for (const annotation of annotations) {
    const { name } = annotation.head;
    const previous = latest.get(name);
    if (names.has(name) && (previous === undefined || previous.version < annotation.version)) latest.set(name, annotation);
  }
  return [...latest.values()];
}
