import { annotationTexts } from '../../annotation-texts.js';
import { editsOf } from '../edits.js';
import type { AnnotationRecord } from '../model.js';

/** The annotation that is made for the first shape of an image. It is dropped again if nothing is drawn. */
export class FirstAnnotation {
  #id: string | null = null;
  #making: Promise<void> | null = null;

  /** @param make makes an annotation of this name; `null` if the user has left the image meanwhile */
  constructor(private readonly make: (name: string) => Promise<AnnotationRecord | null>) {}

  /** Makes the annotation. Calls while it is being made share one request. */
  begin(): Promise<void> {
    const make = async () => {
      const record = await this.make(annotationTexts.firstNamed);
      this.#id = record?._id ?? null;
    };
    this.#making ??= make().finally(() => (this.#making = null));
    return this.#making;
  }

  /** The annotation, if it is among the records and nothing has been drawn. After this it is like any other. */
  takeUnused(records: readonly AnnotationRecord[]): AnnotationRecord | null {
    const record = records.find(({ _id }) => _id === this.#id);
    this.#id = null;
    return record && record._elementCount === 0 && editsOf(record._id).unsaved === 0 ? record : null;
  }
}
