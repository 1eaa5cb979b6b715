// @ts-check

/**
 * Documents of annotations, as far as this page reads them.
 *
 * @typedef {object} AnnotationRecord
 * @property {string} _id
 * @property {string} itemId
 * @property {number} _version
 * @property {number} _elementCount
 * @property {number} _detailsCount
 * @property {number} _accessLevel 0 read, 1 write, 2 administer
 * @property {string} created
 * @property {(string | null)[]} [groups] names in use; `null` where elements have none
 * @property {{ name?: string, description?: string, display?: { visible?: 'new' | boolean } }} annotation
 *
 * @typedef {[number, number, number]} Coordinate x, y, z in full-resolution pixels
 *
 * @typedef {object} Element
 * @property {string} id
 * @property {string} type
 * @property {string} [group]
 * @property {{ value: string, visibility?: 'hidden' | 'always' | 'onhover', fontSize?: number, color?: string }} [label]
 * @property {string} [lineColor]
 * @property {number} [lineWidth]
 * @property {string} [fillColor]
 * @property {Coordinate} [center]
 * @property {number} [width]
 * @property {number} [height]
 * @property {number} [rotation] radians
 * @property {number} [radius]
 * @property {number} [widthSubdivisions]
 * @property {number} [heightSubdivisions]
 * @property {Coordinate[]} [points]
 * @property {Coordinate[][]} [holes]
 * @property {boolean} [closed]
 * @property {number} [opacity] of an overlay
 * @property {{ xoffset?: number, yoffset?: number, matrix?: [[number, number], [number, number]] }} [transform] of an overlay
 * @property {number[]} [values] of a pixelmap: the category of each pixel value
 * @property {{ fillColor: string, strokeColor?: string }[]} [categories]
 * @property {boolean} [boundaries]
 *
 * @typedef {{ x: number, y: number }} Point
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Box
 */

/** What to call an annotation. @param {AnnotationRecord} record */
export function nameOf(record) {
  return record.annotation.name || 'Unnamed annotation';
}

/** A new id: four bytes of time, as the server's own ids have, and eight of chance. */
export function newId() {
  const seconds = Math.floor(Date.now() / 1000);
  const chance = [...crypto.getRandomValues(new Uint8Array(8))];
  return seconds.toString(16).padStart(8, '0') + chance.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {Box} box @param {Box} other */
export function overlaps(box, other) {
  return box.left <= other.right && box.right >= other.left && box.top <= other.bottom && box.bottom >= other.top;
}

/** Whether `inner` lies within `outer`. @param {Box} outer @param {Box} inner */
export function contains(outer, inner) {
  return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
}
