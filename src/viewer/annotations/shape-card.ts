import { button, fill, h } from '../dom.js';
import { factList, valueTree } from '../image/facts.js';
import { measuresOf } from './shape-measures.js';
import type { Element } from './annotation-model.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';
import { formatNumber, shorten } from '../format.js';

/** Maximum lengths of shown texts, in characters. Longer texts would cover the image. */
const maxLengths = { term: 60, value: 300 };
/** Maximum number of shown user fields. */
const maxFields = 100;

/** A card on the stage with properties of the shape under the pointer, or of the clicked shape. */
export function shapeCard(metadata: ImageMetadata) {
  const content = h('div');
  const close = button('', () => pin(null), { icon: 'close', name: commonTexts.close });
  const attributes = { 'aria-label': annotationTexts.shape, hidden: true };
  const element = h('section.shape-card.surface.raised.break', attributes, content, close);
  let pinnedShape: Element | null = null;
  let shownShape: Element | null = null;
  return { element, show, pin, pinnedShape: () => pinnedShape };

  function show(shape: Element | null) {
    const shapeToShow = pinnedShape ?? shape;
    element.hidden = shapeToShow === null;
    close.hidden = pinnedShape === null;
    if (shapeToShow === shownShape || shapeToShow === null) return;
    shownShape = shapeToShow;
    const { rows, nested } = splitFields(shapeToShow.user ?? {});
    const count = Object.keys(nested).length;
    const foldedFields = count > 0 && h('details', h('summary', annotationTexts.moreFields(count)), valueTree(nested));
    fill(content, factList(cardRows(shapeToShow, rows)), foldedFields);
  }

  function pin(shape: Element | null) {
    pinnedShape = shape;
    show(null);
  }

  function cardRows(shape: Element, fields: [string, string][]): [string, string][] {
    const facts: (readonly [string, string | null | undefined])[] = [
      [annotationTexts.group, shape.group],
      [annotationTexts.label, shape.label?.value],
      ...measuresOf(shape, metadata),
      ...fields,
      [annotationTexts.type, shape.id === 'measure' ? null : annotationTexts.types[shape.closed ? 'polygon' : shape.type]],
    ];
    return facts.map(([term, value]) => [shorten(term, maxLengths.term), shorten(value ?? '', maxLengths.value)]);
  }
}

/** Significant digits of a number that has a fraction. */
const significantDigits = 6;

/**
 * Splits the fields of a shape. `rows` has the plain values, including those in objects that contain only plain values. `nested` has all other fields,
 * and the fields beyond the maximum number.
 */
function splitFields(user: Record<string, unknown>) {
  const rows: [string, string][] = [];
  const nested: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(user)) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const entries = isObject ? Object.entries(value).map(([inner, member]) => [`${name} / ${inner}`, member]) : [[name, value]];
    const texts = entries.map(([label, member]) => [label, scalarText(member)]);
    const areRows = texts.every((row): row is [string, string] => row[1] !== null);
    if (areRows && rows.length + texts.length <= maxFields) rows.push(...texts);
    else nested[name] = value;
  }
  return { rows, nested };
}

/** A value as text; `null` for an object or a list. */
function scalarText(value: unknown): string | null {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : formatNumber(value, significantDigits);
  if (typeof value === 'object' && value !== null) return null;
  return value === null ? '–' : `${value as string | boolean}`;
}
