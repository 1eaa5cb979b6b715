import { loadAllElements, loadElements } from './requests.js';
import type { AnnotationRecord, Element } from './model.js';

/** Largest numbers of annotations, elements and points in one request. */
const limits = { annotations: 100, elements: 20_000, details: 500_000 };

type Elements = { elements: Element[]; orders: number[] };

interface Waiting {
  record: AnnotationRecord;
  resolve: (loaded: Promise<Elements | null>) => void;
}

/** Loads annotations that are fetched completely. Simultaneous calls are loaded together, because there may be hundreds. */
export class SmallAnnotations {
  #waiting: Waiting[] = [];

  constructor(
    private readonly itemId: string,
    private readonly signal: AbortSignal,
  ) {}

  /** The elements of an annotation, with their order. */
  load(record: AnnotationRecord): Promise<Elements | null> {
    return new Promise((resolve) => {
      if (this.#waiting.length === 0) setTimeout(() => this.#send());
      this.#waiting.push({ record, resolve });
    });
  }

  #send() {
    const waiting = this.#waiting;
    this.#waiting = [];
    let batch: Waiting[] = [];
    let [elements, details] = [0, 0];
    for (const one of waiting) {
      const { _elementCount, _detailsCount } = one.record;
      const isFull = elements + _elementCount > limits.elements || details + _detailsCount > limits.details;
      if (batch.length > 0 && (isFull || batch.length === limits.annotations)) {
        this.#sendBatch(batch);
        batch = [];
        [elements, details] = [0, 0];
      }
      batch.push(one);
      elements += _elementCount;
      details += _detailsCount;
    }
    this.#sendBatch(batch);
  }

  #sendBatch(batch: Waiting[]) {
    const alone = (record: AnnotationRecord) =>
      loadElements(record, { region: null, limit: limits.elements, maxDetails: limits.details, signal: this.signal });
    if (batch.length === 1) {
      for (const { record, resolve } of batch) resolve(alone(record));
      return;
    }
    const records = batch.map(({ record }) => record);
    const loaded = loadAllElements(this.itemId, records, this.signal);
    for (const { record, resolve } of batch) {
      // An annotation with a different version is about to be loaded again, or is no longer shown.
      const found = loaded.then((all) => all.get(record._id) ?? alone(record));
      resolve(found);
    }
  }
}
