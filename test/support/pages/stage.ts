import type { BrowserContext, Page } from 'playwright-core';

type Position = [x: number, y: number];

/** Gestures on the image of the viewer, at places given in screen pixels from the middle of the stage. */
export function stageOf(page: Page) {
  async function at(x: number, y: number): Promise<Position> {
    const box = (await page.locator('.stage').first().boundingBox())!;
    return [box.x + box.width / 2 + x, box.y + box.height / 2 + y];
  }
  return {
    async drag(from: Position, to: Position) {
      await page.mouse.move(...(await at(...from)));
      await page.mouse.down();
      await page.mouse.move(...(await at((from[0] + to[0]) / 2, (from[1] + to[1]) / 2)));
      await page.mouse.move(...(await at(...to)));
      await page.mouse.up();
    },
    async click(x: number, y: number) {
      await page.mouse.click(...(await at(x, y)));
    },
  };
}

/** Reports the errors of a page: those of its scripts, and those that the browser shows in the console. */
export function onErrors(page: Page, report: (text: string) => void) {
  page.on('console', (message) => {
    if (message.type() === 'error') report(message.text());
  });
  page.on('pageerror', (error) => report(error.message));
}

/** Signs in with the password that the test host gives users. */
export async function signIn(page: Page, url: string, login: string) {
  await page.goto(`${url}/#sign-in`);
  await page.getByLabel('Login or email').fill(login);
  await page.getByLabel('Password').fill(`${login}.password`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Collections' }).waitFor();
}

/**
 * Makes pages also draw annotations on separate canvases: `shapesInk` has what this page draws, `allInk` also the server's
 * pictures.
 */
export async function watchInk(pages: Page | BrowserContext) {
  await pages.addInitScript(`(() => {
    const { drawImage, clearRect } = CanvasRenderingContext2D.prototype;
    const { transferToImageBitmap } = OffscreenCanvas.prototype;
    const shapes = new WeakSet();
    const copies = (context) => {
      const { canvas } = context;
      if (!canvas.closest('.drawing .openseadragon-canvas')) return [];
      canvas.copies ??= ['shapesInk', 'allInk'].map((name) => (window[name] = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })));
      window.inked = canvas;
      for (const { canvas: copy } of canvas.copies)
        if (copy.width !== canvas.width || copy.height !== canvas.height) Object.assign(copy, { width: canvas.width, height: canvas.height });
      return canvas.copies;
    };
    OffscreenCanvas.prototype.transferToImageBitmap = function () {
      const picture = transferToImageBitmap.call(this);
      shapes.add(picture);
      return picture;
    };
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
      for (const copy of copies(this)) { copy.resetTransform(); copy.clearRect(...box); }
      return clearRect.apply(this, box);
    };
    CanvasRenderingContext2D.prototype.drawImage = function (picture, ...place) {
      if (picture instanceof ImageBitmap)
        for (const [index, copy] of copies(this).entries()) {
          if (index === 0 && !shapes.has(picture)) continue;
          copy.setTransform(this.getTransform());
          copy.globalAlpha = this.globalAlpha;
          copy.drawImage(picture, ...place);
        }
      return drawImage.call(this, picture, ...place);
    };
  })()`);
}

/** The number of pixels of the drawn shapes that are not transparent. */
export function inkOf(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    if (!window.inked?.isConnected) return 0;
    const { data } = shapesInk.getImageData(0, 0, shapesInk.canvas.width, shapesInk.canvas.height);
    let count = 0;
    for (let index = 3; index < data.length; index += 4) if (data[index] > 0) count += 1;
    return count;
  })()`);
}

/** Red, green, blue and opacity of the annotations at positions in pixels from the center of the stage. */
export function colorsAt(page: Page, places: readonly Position[]): Promise<number[][]> {
  return page.evaluate<number[][]>(
    `${JSON.stringify(places)}.map(([x, y]) => window.inked?.isConnected
      ? [...allInk.getImageData(allInk.canvas.width / 2 + x, allInk.canvas.height / 2 + y, 1, 1).data]
      : [0, 0, 0, 0])`,
  );
}

/** Stores a token in all pages of a context, so that they are signed in. */
export function keepToken(context: BrowserContext, token: string | null): Promise<unknown> {
  // Pages without an address, such as about:blank, have no storage.
  return context.addInitScript(`if (location.protocol === 'http:') localStorage.setItem('token /api/v1', '${token}')`);
}

/** The place of an element on a page, in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function areOverlapping(one: Box, other: Box): boolean {
  return (
    one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height
  );
}
