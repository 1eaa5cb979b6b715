import { BadParameterError } from '../errors.js';
import type { AnnotationRecord, AnnotationState, AnnotationVersionRecord } from '../models/annotation-record.js';
import type { AnnotationsOptions, AnnotationWriter, ChangeRequest } from './annotation-writer.js';

/** One version of an annotation. */
export interface AnnotationVersion extends AnnotationState {
  /** Id of the record that holds it: the annotation's own for the current version. */
  id: string;
  annotationId: string;
  /** Whether it is what the annotation is now. */
  isCurrent: boolean;
  /** False for former versions, and for the last one of a deleted annotation. */
  active: boolean;
}

/** Former versions of annotations: read and restored. */
export class AnnotationHistory {
  constructor(
    private readonly options: AnnotationsOptions,
    private readonly writer: AnnotationWriter,
  ) {}

  /** All versions of an annotation, newest first, each once. */
  async versions(annotation: AnnotationRecord): Promise<AnnotationVersion[]> {
    const former = await this.options.model.former.of(annotation.id);
    return [currentVersion(annotation), ...former.filter(isBefore(annotation)).map(formerVersion)];
  }

  /** @throws BadParameterError when there is no such version. */
  async version(annotation: AnnotationRecord, version: number): Promise<AnnotationVersion> {
    if (version === annotation.version) return currentVersion(annotation);
    const former = await this.options.model.former.find(annotation.id, version);
    if (former === null) throw noVersion();
    return formerVersion(former);
  }

  /**
   * Makes a former version the current one again: its document, not its permissions or item.
   *
   * @param version default: that of a deleted annotation, else the one before the current.
   * @throws BadParameterError when there is no such version.
   */
  async revert(request: ChangeRequest, version?: number): Promise<AnnotationRecord> {
    const { model, store } = this.options;
    const current = await this.writer.loadForChange(request, { deletedToo: true });
    const wanted = version ?? (await this.#versionBefore(current));
    if (wanted === current.version && current.active) return current;
    const find = async (): Promise<AnnotationState | null> =>
      wanted === current.version ? current : model.former.find(current.id, wanted);
    const former = await find();
    if (former === null) throw noVersion();
    let reverted: AnnotationRecord;
    try {
      reverted = await store.share(former.elements.family, async () => {
        const source = await find();
        if (source === null) throw noVersion();
        return this.writer.commit(current, { head: source.head, elements: source.elements }, request.caller);
      });
    } catch (error) {
      throw await this.writer.explain(error, request, current);
    }
    await this.writer.changed(current, reverted);
    await this.writer.tell(request.caller?.id ?? null, 'revert', reverted);
    return reverted;
  }

  async #versionBefore(current: AnnotationRecord): Promise<number> {
    if (!current.active) return current.version;
    const former = await this.options.model.former.newestBefore(current.id, current.version);
    if (former === null) throw noVersion();
    return former;
  }
}

function noVersion(): BadParameterError {
  return new BadParameterError('Annotation history version not found.');
}

/** A version that was written down before a change that then failed is still the current one: it is not listed twice. */
function isBefore({ version }: AnnotationRecord): (former: AnnotationVersionRecord) => boolean {
  return (former) => former.version < version;
}

function currentVersion(annotation: AnnotationRecord): AnnotationVersion {
  return { ...annotation, annotationId: annotation.id, isCurrent: true };
}

function formerVersion(former: AnnotationVersionRecord): AnnotationVersion {
  return { ...former, isCurrent: false, active: false };
}
