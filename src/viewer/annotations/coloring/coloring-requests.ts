import type { Answer } from '../../answers.js';
import { request } from '../../api.js';
import { objectTexts } from '../../object-texts.js';
import type { AnnotationRecord } from '../annotation-model.js';
import { coloringQuery, type Coloring } from './coloring.js';

/** The legend of a coloring. */
export type ColoringLegend = NonNullable<Answer<'GET annotation/{id}/tiles'>['coloring']>;

/** Asks the server for the colors of a coloring that is not plain. */
export async function requestLegend(record: AnnotationRecord, coloring: Coloring, signal: AbortSignal): Promise<ColoringLegend> {
  const query = { ...coloringQuery(coloring), _: record._version };
  const { coloring: legend } = await request('GET', `annotation/${record._id}/tiles`, { query, signal });
  if (!legend) throw new Error(objectTexts.noColors);
  return legend;
}
