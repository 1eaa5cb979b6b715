import { afterAll, beforeAll, expect, it, vi } from 'vitest';

type Cell = { column: number; row: number };

// By a name that only the running test knows: the types of browsers are not among those of the tests.
const path: string = '../../../src/viewer/stage/cells.js';
const { CellLayer } = (await import(path)) as { CellLayer: new (options: object) => { redraw: () => void } };

/** The part of a matrix that a view needs if it is only moved. */
class Moved {
  readonly a = 1;
  readonly b = 0;

  constructor(
    readonly e = 0,
    readonly f = 0,
  ) {}

  multiply(other: Moved) {
    return new Moved(this.e + other.e, this.f + other.f);
  }

  inverse() {
    return new Moved(-this.e, -this.f);
  }

  transformPoint({ x, y }: { x: number; y: number }) {
    return { x: x + this.e, y: y + this.f };
  }
}

/** A layer of cells of 100 pixels on a stage of 400 by 200, and the drawn cells, as `column row`. */
function layerOf(isReady: (cell: Cell) => boolean) {
  let at = new Moved(-10, -10);
  let paint: (context: object, ratio: number) => void;
  let settle: () => void;
  const drawn: string[] = [];
  const stage = {
    canvas: { isConnected: true },
    size: () => ({ width: 400, height: 200 }),
    placement: () => at,
    addPainter: (painter: typeof paint) => ((paint = painter), () => {}),
    repaint: () => paint({ drawImage() {}, resetTransform() {} }, 1),
    onRest: (listener: () => void) => (settle = listener),
  };
  const endless = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const layout = {
    toImage: new Moved(),
    width: 100,
    height: 100,
    origin: { x: 0, y: 0 },
    range: endless,
    isReady,
    draw: async ({ column, row }: Cell) => (drawn.push(`${column} ${row}`), { close() {} }),
  };
  const layer = new CellLayer({ stage, depth: 'shapes', createLayout: () => layout, concurrency: 1 });
  const takeDrawn = async () => {
    await new Promise(setImmediate);
    return drawn.splice(0);
  };
  layer.redraw();
  return {
    /** Moves the image, and returns what was drawn. */
    move(x: number, y: number) {
      at = new Moved(x, y);
      stage.repaint();
      return takeDrawn();
    },
    rest() {
      settle();
      return takeDrawn();
    },
    repaint: () => (stage.repaint(), takeDrawn()),
  };
}

const cells = (columns: number[], rows: number[]) => columns.flatMap((x) => rows.map((y) => `${x} ${y}`)).toSorted();

beforeAll(() => {
  vi.stubGlobal('devicePixelRatio', 1);
  vi.stubGlobal('requestAnimationFrame', (call: () => void) => call());
});
afterAll(() => vi.unstubAllGlobals());

it('draws only cells ahead while the view moves, and all near ones when it rests, each once', async () => {
  const layer = layerOf(() => true);
  expect((await layer.repaint()).toSorted()).toEqual(cells([-1, 0, 1, 2, 3, 4, 5], [-1, 0, 1, 2]));
  expect((await layer.move(-150, -10)).toSorted()).toEqual(cells([6], [0, 1, 2]));
  expect((await layer.move(-250, -10)).toSorted()).toEqual(cells([7], [0, 1, 2]));
  expect((await layer.rest()).toSorted()).toEqual(cells([6, 7], [-1]));
  expect((await layer.move(-250, -120)).toSorted()).toEqual(cells([2, 3, 4, 5, 6], [3]));
  expect(await layer.repaint()).toEqual([]);
});

it('draws cells that are not ready once they are ready, or in view', async () => {
  let count = 6;
  const layer = layerOf(({ column }) => column < count);
  await layer.repaint();
  expect(await layer.move(-150, -10)).toEqual([]);
  count = 7;
  expect((await layer.move(-151, -10)).toSorted()).toEqual(cells([6], [0, 1, 2]));
  expect((await layer.move(-350, -10)).toSorted()).toEqual(cells([7], [0, 1, 2]));
  expect((await layer.rest()).toSorted()).toEqual(cells([6], [-1]));
});
