import { annotationTexts } from '../../annotation-texts.js';
import { editsOf } from '../edits.js';
import type { AnnotationRecord } from '../annotation-model.js';

/** The annotation that is created for the first shape of an image. It is deleted again if nothing is drawn. */
export class FirstAnnotation {
  #id: string | null = null;
  #pendingCreation: Promise<void> | null = null;

  /** @param create creates an annotation with a name; `null` if the user has left the image by then */
  constructor(private readonly create: (name: string) => Promise<AnnotationRecord | null>) {}

  /** Creates the annotation. Calls while the annotation is being created share one request. */
  createOnce(): Promise<void> {
    const createAndRemember = async () => {
      const record = await this.create(annotationTexts.firstNamed);
      this.#id = record?._id ?? null;
    };
    this.#pendingCreation ??= createAndRemember().finally(() => (this.#pendingCreation = null));
    return this.#pendingCreation;
  }

  /** The annotation, if it is among the records and nothing was drawn in it. From then on, the annotation is treated like any other. */
  takeUnused(records: readonly AnnotationRecord[]): AnnotationRecord | null {
    const record = records.find(({ _id }) => _id === this.#id);
    this.#id = null;
    return record && record._elementCount === 0 && editsOf(record._id).unsavedCount === 0 ? record : null;
  }
}
