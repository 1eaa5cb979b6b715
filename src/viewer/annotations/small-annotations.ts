import { loadAllElements, loadElements } from './annotation-requests.js';
import type { AnnotationRecord, Element } from './annotation-model.js';

/** Maximum numbers of annotations, elements and points in one request. */
const limits = { annotations: 100, elements: 20_000, details: 500_000 };

type LoadedElements = { elements: Element[]; orders: number[] };

interface PendingLoad {
  record: AnnotationRecord;
  resolve: (loaded: Promise<LoadedElements | null>) => void;
}

/** Loads small annotations completely. Simultaneous calls share a request, because there may be hundreds. */
export class SmallAnnotations {
  #pending: PendingLoad[] = [];

  constructor(
    private readonly itemId: string,
    private readonly signal: AbortSignal,
  ) {}

  /** The elements of an annotation, with their order. */
  load(record: AnnotationRecord): Promise<LoadedElements | null> {
    return new Promise((resolve) => {
      if (this.#pending.length === 0) setTimeout(() => this.#send());
      this.#pending.push({ record, resolve });
    });
  }

  #send() {
    const pendingLoads = this.#pending;
    this.#pending = [];
    let batch: PendingLoad[] = [];
    let [elementCount, detailsCount] = [0, 0];
    for (const pending of pendingLoads) {
      const { _elementCount, _detailsCount } = pending.record;
      const isFull = elementCount + _elementCount > limits.elements || detailsCount + _detailsCount > limits.details;
      if (batch.length > 0 && (isFull || batch.length === limits.annotations)) {
        this.#sendBatch(batch);
        batch = [];
        [elementCount, detailsCount] = [0, 0];
      }
      batch.push(pending);
      elementCount += _elementCount;
      detailsCount += _detailsCount;
    }
    this.#sendBatch(batch);
  }

  #sendBatch(batch: PendingLoad[]) {
    const loadAlone = (record: AnnotationRecord) =>
      loadElements(record, { region: null, limit: limits.elements, maxDetails: limits.details, signal: this.signal });
    if (batch.length === 1) {
      for (const { record, resolve } of batch) resolve(loadAlone(record));
      return;
    }
    const records = batch.map(({ record }) => record);
    const loading = loadAllElements(this.itemId, records, this.signal);
    for (const { record, resolve } of batch) {
      // The response lacks annotations with other versions; these are requested alone.
      resolve(loading.then((loadedById) => loadedById.get(record._id) ?? loadAlone(record)));
    }
  }
}
