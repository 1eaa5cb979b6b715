import { loadAllElements, loadElements } from './annotation-requests.js';
import type { AnnotationRecord, Element } from './annotation-model.js';

/** Maximum numbers of annotations, elements and points in one request. */
const limits = { annotations: 100, elements: 20_000, details: 500_000 };

type LoadedElements = { elements: Element[]; orders: number[] };

interface PendingLoad {
  record: AnnotationRecord;
  resolve: (loaded: Promise<LoadedElements | null>) => void;
}

/** Loads small annotations completely. Simultaneous calls share requests, because there may be hundreds of annotations. */
export class SmallAnnotations {
  #pendingLoads: PendingLoad[] = [];

  constructor(
    private readonly itemId: string,
    private readonly signal: AbortSignal,
  ) {}

  /** Loads all elements of an annotation with their order; `null` if there are too many. */
  load(record: AnnotationRecord): Promise<LoadedElements | null> {
    return new Promise((resolve) => {
      if (this.#pendingLoads.length === 0) setTimeout(() => this.#send());
      this.#pendingLoads.push({ record, resolve });
    });
  }

  #send() {
    const loads = this.#pendingLoads;
    this.#pendingLoads = [];
    let batch: PendingLoad[] = [];
    let [elementCount, detailsCount] = [0, 0];
    for (const load of loads) {
      const { _elementCount, _detailsCount } = load.record;
      const isFull = elementCount + _elementCount > limits.elements || detailsCount + _detailsCount > limits.details;
      if (batch.length > 0 && (isFull || batch.length === limits.annotations)) {
        this.#sendBatch(batch);
        batch = [];
        [elementCount, detailsCount] = [0, 0];
      }
      batch.push(load);
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
    const loadedByIdPromise = loadAllElements(this.itemId, records, this.signal);
    for (const { record, resolve } of batch) {
      // The response lacks annotations that have changed in the meantime; they are requested one by one.
      resolve(loadedByIdPromise.then((loadedById) => loadedById.get(record._id) ?? loadAlone(record)));
    }
  }
}
