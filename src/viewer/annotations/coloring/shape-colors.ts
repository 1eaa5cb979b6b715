import type { Element } from '../annotation-model.js';
import { coloringQuery, isPlain, type Coloring } from './coloring.js';
import type { ColoringLegend } from './coloring-requests.js';
import { matchesFilter, valueOf } from './shape-values.js';

/** The filter and the colors of the shapes that this page draws. The server's tiles have the same filter and colors. */
export class ShapeColors {
  readonly #colors: Map<unknown, string>;
  /** Copies of shapes in other colors, by the original shape. */
  readonly #coloredShapes: WeakMap<Element, Element> = new WeakMap();

  constructor(
    readonly coloring: Coloring,
    /** `null` if the coloring needs no legend */
    readonly legend: ColoringLegend | null,
  ) {
    const colorPairs =
      coloring.by === null ? coloring.colors : legend?.categories?.map(({ value, color }) => [value, color] as const);
    this.#colors = new Map(colorPairs);
  }

  matches(element: Element) {
    return matchesFilter(this.coloring.filter, element, this.legend?.columns ?? {});
  }

  /** A copy of a shape in its color; the shape itself if the coloring has no colors. */
  toColored(element: Element): Element {
    const { by, colors } = this.coloring;
    if (by === null && colors.length === 0) return element;
    const cachedShape = this.#coloredShapes.get(element);
    if (cachedShape) return cachedShape;
    const color = this.#colorOf(element);
    const coloredShape = color === undefined ? element : withNewColor(element, color);
    this.#coloredShapes.set(element, coloredShape);
    return coloredShape;
  }

  /** The color as `#rrggbb`; `undefined` for a category that the server does not know yet. */
  #colorOf(element: Element): string | undefined {
    const { by } = this.coloring;
    if (by === null) return this.#colors.get(element.group ?? null);
    const { scale = null, columns = {} } = this.legend ?? {};
    const value = valueOf(element, by, columns);
    if (!scale) return this.#colors.get(value);
    if (typeof value !== 'number') return scale.none;
    const share = Math.min(1, Math.max(0, (value - scale.low) / (scale.high - scale.low)));
    return scale.colors[Math.round(share * (scale.colors.length - 1))];
  }
}

/** A shape with the red, green and blue of a color. Its fill and its line keep their opacity. */
export function withNewColor(element: Element, color: string): Element {
  const { fillColor, lineColor } = element;
  return { ...element, lineColor: keepAlpha(color, lineColor), ...(fillColor && { fillColor: keepAlpha(color, fillColor) }) };
}

function keepAlpha(color: string, formerColor: string = ''): string {
  const digits = /^#(?:[\da-f]{3}([\da-f])|[\da-f]{6}([\da-f]{2}))$/i.exec(formerColor);
  if (digits) return `${color}${digits[1] ? digits[1].repeat(2) : digits[2]}`;
  const alpha = /^rgba\((?:[^,]*,){3}\s*([\d.]+)/.exec(formerColor)?.[1];
  if (alpha === undefined) return color;
  const hex = Math.round(Math.min(1, Number(alpha)) * 255).toString(16);
  return `${color}${hex.padStart(2, '0')}`;
}

/** A key for a coloring and a version of an annotation, to tell whether the {@link ShapeColors} are current; `''` for a plain coloring. */
export function shapeColorsKey(version: number, coloring: Coloring) {
  return isPlain(coloring) ? '' : JSON.stringify([version, coloringQuery(coloring)]);
}
