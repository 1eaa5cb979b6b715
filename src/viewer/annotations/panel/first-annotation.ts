import { annotationTexts } from '../../annotation-texts.js';
import { editsOf } from '../edits.js';
import type { AnnotationRecord } from '../model.js';

/** The annotation that is created for the first shape of an image. It is deleted again if nothing is drawn. */
export class FirstAnnotation {
  #id: string | null = null;
  #making: Promise<void> | null = null;

  /** @param make creates an annotation with a name; `null` if the user has left the image by then */
  constructor(private readonly make: (name: string) => Promise<AnnotationRecord | null>) {}

  /** Creates the annotation. Calls while it is being created share one request. */
  begin(): Promise<void> {
    const make = async () => {
      const record = await this.make(annotationTexts.firstNamed);
      this.#id = record?._id ?? null;
    };
    this.#making ??= make().finally(() => (this.#making = null));
    return this.#making;
  }

  /** The annotation, if it is among the records and nothing was drawn in it. From then on, it is treated like any other. */
  takeUnused(records: readonly AnnotationRecord[]): AnnotationRecord | null {
    const record = records.find(({ _id }) => _id === this.#id);
    this.#id = null;
    return record && record._elementCount === 0 && editsOf(record._id).unsaved === 0 ? record : null;
  }
}
