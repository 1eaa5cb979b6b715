import type { Documents } from '../answers.js';
import { annotationTexts } from '../annotation-texts.js';

/** An annotation in a list, without its elements. */
export type AnnotationRecord = Documents['Annotation'] & { _accessLevel: number; created: string };

/** x, y, z in full-resolution pixels */
export type Coordinate = [number, number, number];

/** An element of any type. The type determines which members it has. */
export interface Element {
  id: string;
  type: string;
  group?: string;
  /** fields of other programs */
  user?: Record<string, unknown>;
  label?: { value: string; visibility?: 'hidden' | 'always' | 'onhover'; fontSize?: number; color?: string };
  lineColor?: string;
  lineWidth?: number;
  fillColor?: string;
  center?: Coordinate;
  width?: number;
  height?: number;
  /** radians */
  rotation?: number;
  radius?: number;
  widthSubdivisions?: number;
  heightSubdivisions?: number;
  points?: Coordinate[];
  holes?: Coordinate[][];
  closed?: boolean;
  /** of an overlay, from 0 to 1 */
  opacity?: number;
  /** of an overlay: where its picture is on the image */
  transform?: { xoffset?: number; yoffset?: number; matrix?: [[number, number], [number, number]] };
  /** of a pixelmap: the category of each pixel value */
  values?: number[];
  categories?: { fillColor: string; strokeColor?: string }[];
  boundaries?: boolean;
}

/** The change of an element. `before` is `null` for a new element, `after` is `null` for a removed element. */
export type Edit = { before: Element | null; after: Element | null };

export type Point = { x: number; y: number };

export type Box = { left: number; top: number; right: number; bottom: number };

/** The name of an annotation to display. */
export function nameOf(record: AnnotationRecord) {
  return record.annotation.name || annotationTexts.unnamed;
}

/** A new id in hexadecimal digits: four bytes of time, as in the server's ids, and eight random bytes. */
export function newId() {
  const seconds = Math.floor(Date.now() / 1000);
  const randomBytes = [...crypto.getRandomValues(new Uint8Array(8))];
  return seconds.toString(16).padStart(8, '0') + randomBytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function boxAround(points: readonly Point[]): Box {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y } of points) {
    if (x < box.left) box.left = x;
    if (x > box.right) box.right = x;
    if (y < box.top) box.top = y;
    if (y > box.bottom) box.bottom = y;
  }
  return box;
}

export function overlaps(box: Box, other: Box) {
  return box.left <= other.right && box.right >= other.left && box.top <= other.bottom && box.bottom >= other.top;
}

/** Whether `inner` is inside `outer`. */
export function contains(outer: Box, inner: Box) {
  return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
}

/** The parts of a box that are outside another box. */
export function partsOutsideBox({ left, top, right, bottom }: Box, other: Box): Box[] {
  const above = Math.max(top, other.top);
  const below = Math.min(bottom, other.bottom);
  const parts = [
    { left, top, right, bottom: above },
    { left, top: above, right: other.left, bottom: below },
    { left: other.right, top: above, right, bottom: below },
    { left, top: below, right, bottom },
  ];
  return parts.filter((part) => part.left < part.right && part.top < part.bottom);
}
