import type { Page } from 'playwright-core';

type Place = [x: number, y: number];

/** Gestures on the image of the viewer, at places given in screen pixels from the middle of the stage. */
export function stageOf(page: Page) {
  async function at(x: number, y: number): Promise<Place> {
    const box = (await page.locator('.stage').boundingBox())!;
    return [box.x + box.width / 2 + x, box.y + box.height / 2 + y];
  }
  return {
    async drag(from: Place, to: Place) {
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

/** How many pixels of the canvas of annotations are not transparent. */
export function inkOf(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    const canvas = document.querySelector('.annotation-layer');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let index = 3; index < data.length; index += 4) if (data[index] > 0) count += 1;
    return count;
  })()`);
}
