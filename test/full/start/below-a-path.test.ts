import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { noNginx, startNginx } from '../../support/hosts/nginx.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';

const executablePath = chromiumPath();
const absent = [noNginx, executablePath === null ? 'there is no Chromium' : null].filter((reason) => reason !== null).join(', ');
if (absent !== '') console.warn(`skipped: the page behind nginx with TLS, below a path, because ${absent}`);

describe.skipIf(absent !== '')('behind the nginx of deploy/, with TLS, below a path', { timeout: 180_000 }, () => {
  let server: TestHost;
  let admin: Client;
  let nginx: Awaited<ReturnType<typeof startNginx>>;
  let item: string;
  beforeAll(async () => {
    server = await startHost({ trustProxy: 'loopback' });
    admin = await server.register('admin');
    item = await uploadItem(admin, await newFolder(admin, 'private', false), 'slide.tiff', await pyramid(600, 400));
    nginx = await startNginx([Number(new URL(server.url).port)]);
  });
  afterAll(async () => {
    await nginx?.close();
    await server?.close();
  });

  it('the page, a private image, the element and the description of the API work', async () => {
    const { tlsUrl } = nginx;
    const browser = await launchChromium(executablePath!);
    try {
      const context = await browser.newContext({ ignoreHTTPSErrors: true });
      const page = await context.newPage();
      const failed: string[] = [];
      const outside: string[] = [];
      page.on('response', (answer) => {
        if (answer.status() >= 400) failed.push(`${answer.status()} ${answer.url()}`);
        if (answer.url().startsWith('http') && !answer.url().startsWith(`${tlsUrl}/`)) outside.push(answer.url());
      });
      // The address also works without the slash at the end.
      await page.goto(`${tlsUrl}#item/${item}`);
      await page.getByText('Please sign in').first().waitFor();
      failed.length = 0;
      outside.length = 0;
      await page.goto(`${tlsUrl}/#sign-in?back=item/${item}`);
      await page.getByLabel('Login or email').fill('admin');
      await page.getByLabel('Password').fill('admin.password');
      const tile = page.waitForResponse((answer) => answer.url().includes('/tiles/zxy/') && answer.status() === 200);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await tile;
      const [cookie] = await context.cookies(`${tlsUrl}/`);
      expect(cookie).toMatchObject({ name: 'girderToken', path: '/images', secure: true, httpOnly: true });
      await page.goto(`${tlsUrl}/api/v1/describe`);
      await page
        .getByRole('heading', { level: 2, name: 'annotation' })
        .or(page.locator('#operations-tag-annotation'))
        .first()
        .waitFor();
      expect({ failed, outside }).toEqual({ failed: [], outside: [] });
      const get = async (path: string) => (await context.request.get(`${tlsUrl}/api/v1${path}`)).json();
      expect(await get(`/describe/openapi.json`)).toMatchObject({ servers: [{ url: '/images/api/v1' }] });
      expect(await get(`/iiif/${item}/info.json`)).toMatchObject({ id: `${tlsUrl}/api/v1/iiif/${item}` });
    } finally {
      await browser.close();
    }
  });

  it('metrics are hidden', async () => {
    const { status } = await fetch(`${nginx.url}/metrics`);
    expect(status).toBe(404);
  });
});
