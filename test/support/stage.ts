import type { Page } from 'playwright-core';

type Position = [x: number, y: number];

/** Gestures on the image of the viewer, at places given in screen pixels from the middle of the stage. */
export function stageOf(page: Page) {
  async function at(x: number, y: number): Promise<Position> {
    const box = (await page.locator('.stage').boundingBox())!;
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

/** Signs in, as the test host registers users. */
export async function signIn(page: Page, url: string, login: string) {
  await page.goto(`${url}/#sign-in`);
  await page.getByLabel('Login or e-mail').fill(login);
  await page.getByLabel('Password').fill(`${login}.password`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Collections' }).waitFor();
}

/** How many pixels of the shapes that are drawn, also those just beyond the stage, are not transparent. */
export function inkOf(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    let count = 0;
    for (const cell of document.querySelectorAll('[data-testid="annotation-cell"]')) {
      if (cell.offsetWidth === 0) continue;
      const { width, height } = cell;
      const context = new OffscreenCanvas(width, height).getContext('2d');
      context.drawImage(cell, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      for (let index = 3; index < data.length; index += 4) if (data[index] > 0) count += 1;
    }
    return count;
  })()`);
}

/** Red, green, blue and opacity of what annotations have at places that are given in pixels from the middle of the stage. */
export function colorsAt(page: Page, places: readonly Position[]): Promise<number[][]> {
  return page.evaluate<number[][]>(`(() => {
    const stage = document.querySelector('.stage').getBoundingClientRect();
    return ${JSON.stringify(places)}.map(([x, y]) => {
      const [left, top] = [stage.x + stage.width / 2 + x, stage.y + stage.height / 2 + y];
      const context = new OffscreenCanvas(1, 1).getContext('2d');
      for (const cell of document.querySelectorAll('.cells canvas')) {
        const box = cell.getBoundingClientRect();
        if (left < box.left || left >= box.right || top < box.top || top >= box.bottom) continue;
        const [across, down] = [cell.width / box.width, cell.height / box.height];
        context.drawImage(cell, (left - box.left) * across, (top - box.top) * down, 1, 1, 0, 0, 1, 1);
      }
      return [...context.getImageData(0, 0, 1, 1).data];
    });
  })()`);
}
