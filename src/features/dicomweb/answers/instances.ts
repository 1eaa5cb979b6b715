import type { DicomJson } from '../../../tilesource/tile-source.js';
import { LargeImageError } from '../../../errors.js';
import type { AnnotationInstances } from '../annotations/annotation-instances.js';
import { transferSyntaxes } from '../format/dataset.js';
import type { Instance } from '../images/locator.js';
import { frameSyntaxes } from '../images/structure.js';
import type { DicomFiles } from './dicom-files.js';
import type { CallerContext, Slides } from './slides.js';
import type { StreamedFile } from './streamed-file.js';

/** UIDs of an instance. */
export function uidsOf(instance: Instance): { study: string; series: string; instance: string } {
  const { study } = instance.record;
  if (instance.kind === 'slide') return { study, series: instance.series.uid, instance: instance.plan.uid };
  return { study, series: instance.seriesUid, instance: instance.uid };
}

/** The transfer syntaxes in which an instance is available, and its number of frames. */
export interface InstanceSyntaxes {
  /** Transfer syntaxes of the whole file; the first is the default. */
  fileSyntaxes: readonly string[];
  /** Transfer syntaxes of frames, preferred one first; empty for an instance without frames. */
  frameSyntaxes: readonly string[];
  frameCount: number;
}

/** Reads instances of every kind. */
export class Instances {
  constructor(readonly parts: { slides: Slides; files: DicomFiles; annotations: AnnotationInstances }) {}

  loadMetadata(instance: Instance, instanceAddress: string, context: CallerContext): Promise<DicomJson> {
    const { slides, files, annotations } = this.parts;
    if (instance.kind === 'slide') return slides.loadMetadata(instance, instanceAddress, context);
    return instance.kind === 'file'
      ? files.loadMetadata(instance, instanceAddress, context)
      : annotations.loadMetadata(instance, instanceAddress, context);
  }

  async loadSyntaxesAndFrameCount(instance: Instance, context: CallerContext): Promise<InstanceSyntaxes> {
    if (instance.kind === 'annotation')
      return { fileSyntaxes: [transferSyntaxes.explicitLittle], frameSyntaxes: [], frameCount: 0 };
    if (instance.kind === 'file') {
      const { syntaxes, frameCount } = await this.parts.files.loadSyntaxesAndFrameCount(instance, context);
      return { fileSyntaxes: syntaxes.slice(0, 1), frameSyntaxes: syntaxes, frameCount };
    }
    const { plan, record } = instance;
    return {
      fileSyntaxes: plan.syntaxes,
      frameSyntaxes: frameSyntaxes(record.facts, plan),
      frameCount: plan.tilesPerPath * plan.paths.length,
    };
  }

  /** A frame, counted from 0. @throws LargeImageError `not-found` for an instance without frames. */
  loadFrame(instance: Instance, frameIndex: number, syntax: string, context: CallerContext): Promise<Uint8Array> {
    const { slides, files } = this.parts;
    if (instance.kind === 'slide') return slides.loadFrame(instance, frameIndex, syntax, context);
    if (instance.kind === 'file') return files.loadFrame(instance, frameIndex, syntax, context);
    throw new LargeImageError('not-found', 'Annotations have no frames.');
  }

  streamFile(instance: Instance, syntax: string, context: CallerContext): Promise<StreamedFile> {
    const { slides, files, annotations } = this.parts;
    if (instance.kind === 'slide') return slides.streamFile(instance, syntax, context);
    return instance.kind === 'file' ? files.streamFile(instance, context) : annotations.streamFile(instance, context);
  }
}
