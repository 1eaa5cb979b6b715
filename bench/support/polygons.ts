import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** Size of the slide with the polygons, in pixels. */
export const [slideWidth, slideHeight] = [90_000, 70_000];

/** A repeatable stream of numbers from 0 to 1. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** Texts of elements: polygons of 12 points in random order over the slide, about 415 bytes each. */
export function* polygonTexts(count: number): Generator<string, void, undefined> {
  const random = randomNumbers(7);
  for (let index = 0; index < count; index += 1) {
    const [x, y] = [random() * slideWidth, random() * slideHeight];
    const points = Array.from({ length: 12 }, (_, at) => {
      const angle = (at * Math.PI) / 6;
      const radius = 6 + 5 * random();
      return [Number((x + radius * Math.cos(angle)).toFixed(2)), Number((y + radius * Math.sin(angle)).toFixed(2)), 0];
    });
    yield JSON.stringify({
      type: 'polyline',
      group: `group ${index % 5}`,
      closed: true,
      fillColor: 'rgba(0,0,0,0)',
      lineColor: '#00ff00',
      lineWidth: 2,
      points,
    });
  }
}

/** A document of polygons, in pieces. */
export function* polygonDocument(count: number): Generator<string, void, undefined> {
  yield '{"name":"bench","elements":[';
  let piece = '';
  let isFirst = true;
  for (const text of polygonTexts(count)) {
    piece += `${isFirst ? '' : ','}${text}`;
    isFirst = false;
    if (piece.length < 1 << 20) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}

/** Writes a document of polygons to a file. */
export async function writePolygons(path: string, count: number): Promise<void> {
  await pipeline(polygonDocument(count), createWriteStream(path));
}
