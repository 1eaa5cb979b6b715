import { button, fill, h } from '../dom.js';
import { factList } from '../image/facts.js';
import { measuresOf } from './measures.js';
import type { Element } from './model.js';
import type { ImageMetadata } from '../image/metadata.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';
import { shortened } from '../format.js';

/** Largest lengths of shown texts. Longer ones would cover the image. */
const maxText = { term: 60, value: 300 };
/** Maximum number of shown user fields. */
const maxFields = 100;

/** A card on the stage with properties of the shape under the pointer, or of the clicked shape. */
export function shapeCard(metadata: ImageMetadata) {
  const content = h('div');
  const close = button('', () => pin(null), { picture: 'close', name: commonTexts.close });
  const attributes = { 'aria-label': annotationTexts.shape, hidden: true };
  const element = h('section.shape-card.surface.raised.break', attributes, content, close);
  let pinned: Element | null = null;
  let shown: Element | null = null;
  return { element, show, pin };

  function show(shape: Element | null) {
    const next = pinned ?? shape;
    element.hidden = next === null;
    close.hidden = pinned === null;
    if (next === shown || next === null) return;
    shown = next;
    fill(content, factList(factsOf(next)));
  }

  function pin(shape: Element | null) {
    pinned = shape;
    show(null);
  }

  function factsOf(shape: Element): [string, string][] {
    const user = Object.entries(shape.user ?? {}).slice(0, maxFields);
    const facts: (readonly [string, string | null | undefined])[] = [
      [annotationTexts.group, shape.group],
      [annotationTexts.label, shape.label?.value],
      ...measuresOf(shape, metadata),
      ...user.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const),
      [annotationTexts.type, shape.id === 'measure' ? null : annotationTexts.types[shape.closed ? 'polygon' : shape.type]],
    ];
    return facts.map(([term, value]) => [shortened(term, maxText.term), shortened(value ?? '', maxText.value)]);
  }
}
