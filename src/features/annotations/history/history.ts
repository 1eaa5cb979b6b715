import { BadParameterError } from '../../../errors.js';
import type { AnnotationRecord, AnnotationState, AnnotationVersionRecord } from '../documents/annotation-record.js';
import { isVersionField, type VersionField } from './versions.model.js';
import type { AnnotationDependencies, ChangeRequest } from '../documents/annotation-dependencies.js';
import type { AnnotationWriter } from '../documents/writer.js';

/** One version of an annotation. */
export interface AnnotationVersion extends AnnotationState {
  /** Id of the version's record. For the current version, this is the id of the annotation. */
  id: string;
  annotationId: string;
  /** Whether this is the current version. */
  isCurrent: boolean;
  /** False for previous versions, and for the last version of a deleted annotation. */
  active: boolean;
}

/** Selects and orders a part of the versions of an annotation. */
export interface VersionPaging {
  /** The name of a field. If versions cannot be sorted by this field, they are sorted by `_version`. */
  field: string;
  direction: 1 | -1;
  /** Maximum number of versions; 0 means no limit. */
  limit: number;
  offset: number;
}

/** Reads and restores former versions of annotations. */
export class AnnotationHistory {
  constructor(
    private readonly options: AnnotationDependencies,
    private readonly writer: AnnotationWriter,
  ) {}

  /**
   * Lists the versions of an annotation, each once. Versions are read as they are consumed. Among versions with equal values, the newest
   * comes first.
   */
  async *listVersions(annotation: AnnotationRecord, paging: VersionPaging): AsyncGenerator<AnnotationVersion> {
    const { formerVersions } = this.options.model;
    const { direction, limit, offset } = paging;
    const field = isVersionField(paging.field) ? paging.field : '_version';
    // If a change failed after the current version was stored as a former version, `belowVersion` prevents that it is listed twice.
    const listing = { annotationId: annotation.id, belowVersion: annotation.version, field, direction };
    const currentPosition = (await formerVersions.countAhead(listing, sortValueGetters[field](annotation))) - offset;
    const showsCurrent = currentPosition >= 0 && (limit === 0 || currentPosition < limit);
    if (showsCurrent && limit === 1) return yield toCurrentVersion(annotation);
    const page = { offset: currentPosition < 0 ? offset - 1 : offset, limit: showsCurrent && limit > 0 ? limit - 1 : limit };
    let count = 0;
    for await (const version of formerVersions.list(listing, page)) {
      if (showsCurrent && count === currentPosition) yield toCurrentVersion(annotation);
      count += 1;
      yield toFormerVersion(version);
    }
    if (showsCurrent && currentPosition >= count) yield toCurrentVersion(annotation);
  }

  /** Returns a text that changes whenever the list of versions changes. */
  async fingerprintOf(annotation: AnnotationRecord): Promise<string> {
    // Every change makes a new version, and every cleanup changes the number of versions.
    return `${annotation.version}/${await this.options.model.formerVersions.count(annotation.id)}`;
  }

  /** Finds a version by its number. @throws BadParameterError if there is no such version. */
  async findVersion(annotation: AnnotationRecord, version: number): Promise<AnnotationVersion> {
    if (version === annotation.version) return toCurrentVersion(annotation);
    const formerVersion = await this.options.model.formerVersions.find(annotation.id, version);
    if (formerVersion === null) throw noVersionError();
    return toFormerVersion(formerVersion);
  }

  /**
   * Makes the document of a previous version current again. The item and the permissions of the annotation stay unchanged.
   *
   * @param version default: the version before the current one, or the last version of a deleted annotation.
   * @throws BadParameterError if there is no such version.
   */
  async revert(request: ChangeRequest, version?: number): Promise<AnnotationRecord> {
    const { model, store } = this.options;
    const current = await this.writer.loadForChange(request, { deletedToo: true });
    const targetVersion = version ?? (await this.#versionBefore(current));
    if (targetVersion === current.version && current.active) return current;
    const findSource = async (): Promise<AnnotationState | null> =>
      targetVersion === current.version ? current : model.formerVersions.find(current.id, targetVersion);
    const initialSource = await findSource();
    if (initialSource === null) throw noVersionError();
    let revertedAnnotation: AnnotationRecord;
    try {
      revertedAnnotation = await store.keepFamilyWhile(initialSource.elements.family, async () => {
        const source = await findSource();
        if (source === null) throw noVersionError();
        return this.writer.commit(current, { head: source.head, elements: source.elements }, request.caller);
      });
    } catch (error) {
      throw await this.writer.toReportedError(error, request, current);
    }
    await this.writer.notifyAndSweep(current, revertedAnnotation);
    await this.writer.notify(request.caller?.id ?? null, 'revert', revertedAnnotation);
    return revertedAnnotation;
  }

  async #versionBefore(current: AnnotationRecord): Promise<number> {
    if (!current.active) return current.version;
    const version = await this.options.model.formerVersions.findNewestBefore(current.id, current.version);
    if (version === null) throw noVersionError();
    return version;
  }
}

function noVersionError(): BadParameterError {
  return new BadParameterError('Annotation history version not found.');
}

/** Functions that return the value of a version, by sort field. */
const sortValueGetters: Readonly<Record<VersionField, (state: AnnotationState) => number | Date>> = {
  _version: ({ version }) => version,
  updated: ({ updated }) => updated,
  created: ({ created }) => created,
  _elementCount: ({ elements }) => elements.count,
  _detailsCount: ({ elements }) => elements.detailsCount,
};

function toCurrentVersion(annotation: AnnotationRecord): AnnotationVersion {
  return { ...annotation, annotationId: annotation.id, isCurrent: true };
}

function toFormerVersion(former: AnnotationVersionRecord): AnnotationVersion {
  return { ...former, isCurrent: false, active: false };
}
