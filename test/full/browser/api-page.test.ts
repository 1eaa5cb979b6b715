import helmet from 'helmet';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';
import { onErrors } from '../../support/pages/stage.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('the API page', () => {
  let at: InstalledSpecimens;
  let browser: Browser;
  beforeAll(async () => {
    at = await startSpecimens((_host, { app }) => {
      app.use(helmet());
      return {};
    });
    browser = await launchChromium(executablePath!);
  });
  afterAll(async () => {
    await browser?.close();
    await at?.close();
  });

  it('shows the routes on a server with helmet(), and loads nothing from elsewhere', async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    const hosts = new Set<string>();
    onErrors(page, (text) => complaints.push(text));
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).origin);
    });
    await page.goto(`${at.api}/describe`);
    await page.locator('.opblock-tag').first().waitFor();
    expect(await page.locator('.opblock-tag').count()).toBeGreaterThan(3);
    expect({ complaints, hosts: [...hosts] }).toEqual({ complaints: [], hosts: [new URL(at.api).origin] });
    await page.close();
  });
});
