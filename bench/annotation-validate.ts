/**
 * Measures the time to check elements and compute their boxes, in comparison with parsing the same bytes:
 * `npx tsx bench/annotation-validate.ts [N]`. Prints the medians of several rounds for N polygons of 12 points, by default 100,000.
 */
import { boundingBox } from '../src/annotation-format/bounding-box.js';
import { ElementIds } from '../src/annotation-format/element-ids.js';
import { createElementValidator } from '../src/annotation-format/validate.js';

const count = Number(process.argv[2] ?? 100_000);
const rounds = 7;

function polygon(index: number) {
  const [x, y] = [(index * 7919) % 90_000, (index * 104_729) % 70_000];
  const points = Array.from({ length: 12 }, (_, at) => {
    const angle = (at * Math.PI) / 6;
    return [Number((x + 8 * Math.cos(angle)).toFixed(2)), Number((y + 8 * Math.sin(angle)).toFixed(2)), 0];
  });
  const id = index.toString(16).padStart(24, '0');
  return {
    type: 'polyline',
    id,
    group: `g${index % 5}`,
    closed: true,
    fillColor: 'rgba(0,0,0,0)',
    lineColor: '#00ff00',
    lineWidth: 2,
    points,
  };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

const texts = Array.from({ length: count }, (_, index) => JSON.stringify(polygon(index)));
const documentText = `[${texts.join(',')}]`;
const check = createElementValidator('service');
const times = {
  parse: [] as number[],
  parseEach: [] as number[],
  check: [] as number[],
  box: [] as number[],
  ids: [] as number[],
};

for (let round = 0; round < rounds; round += 1) {
  let start = performance.now();
  const elements = JSON.parse(documentText) as unknown[];
  times.parse.push(performance.now() - start);

  start = performance.now();
  for (const text of texts) JSON.parse(text);
  times.parseEach.push(performance.now() - start);

  start = performance.now();
  const checkedElements = elements.map((element, index) => check(element, index));
  times.check.push(performance.now() - start);

  start = performance.now();
  let sum = 0;
  for (const element of checkedElements) sum += boundingBox(element).size;
  times.box.push(performance.now() - start);
  if (!Number.isFinite(sum)) throw new Error('a box is not finite');

  start = performance.now();
  const ids = new ElementIds();
  for (const { id } of checkedElements) if (id !== undefined && !ids.add(id)) throw new Error('an id repeats');
  times.ids.push(performance.now() - start);
}

const parseMs = median(times.parse);
console.log(
  `${count} polygons of 12 points, ${(documentText.length / count).toFixed(0)} bytes each; medians of ${rounds} rounds`,
);
for (const [name, values] of Object.entries(times)) {
  console.log(
    `${name.padEnd(10)} ${median(values).toFixed(1).padStart(8)} ms  ${(median(values) / parseMs).toFixed(3)} x JSON.parse`,
  );
}
console.log(`check + box: ${((median(times.check) + median(times.box)) / parseMs).toFixed(3)} x JSON.parse`);
