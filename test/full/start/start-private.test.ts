import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { until } from '../../support/run/until.js';

describe('npm start -- folder/', { timeout: 240_000 }, () => {
  let work: string;
  let database: { uri: string; stop(): Promise<void> };
  let server: ServerProcess;
  let url: string;
  beforeAll(async () => {
    database = await startTestDatabase();
    work = await mkdtemp(join(tmpdir(), 'start-private-'));
    await mkdir(join(work, 'slides'));
    await sharp({ create: { width: 64, height: 48, channels: 3, background: '#c02040' } })
      .png()
      .toFile(join(work, 'slides', 'red.png'));
  });
  afterAll(async () => {
    await stop();
    await database.stop();
    await rm(work, { recursive: true, force: true });
  });

  const start = async (words: readonly string[], env: Record<string, string> = {}) => {
    server = startServer([...words, join(work, 'slides')], {
      MONGODB_URI: database.uri,
      DATA_DIR: join(work, 'data'),
      ADMIN_PASSWORD: 'a-good-one',
      ...env,
    });
    url = await server.url();
    await until('the files are registered', () => server.output().includes('of your own files'), 120_000);
  };
  const stop = async () => {
    server?.kill('SIGTERM');
    await server?.ended;
  };
  /** Names of the collections that a user sees, by default an anonymous one. */
  const collections = async (token?: string) => {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    return ((await (await fetch(`${url}/api/v1/collection`, { headers })).json()) as { name: string }[]).map(({ name }) => name);
  };
  const linkIn = (output: string) => /^Open +(http:\S+\/#enter\/(\S+))/m.exec(output);
  const redeem = (link: string) => {
    const init = { method: 'POST', body: new URLSearchParams({ link }) };
    return fetch(`${url}/api/v1/user/authentication/link`, init);
  };

  it('shows the files only after signing in, and its link signs in once', async () => {
    await start([], { LOG_LEVEL: 'debug' });
    expect(server.output()).toContain('Visible   only to users who sign in and have access');
    expect(await collections()).toEqual([]);
    const [, address = '', secret = ''] = linkIn(server.output()) ?? [];
    expect(address.startsWith(`${url}/#enter/`)).toBe(true);
    const path = chromiumPath();
    if (path === null) {
      console.warn('skipped: the link in a browser, because there is no Chromium');
      const { authToken } = (await (await redeem(secret)).json()) as { authToken: { token: string } };
      expect(await collections(authToken.token)).toEqual(['Local files']);
    } else {
      const browser = await launchChromium(path);
      const page = await browser.newPage();
      await page.goto(address);
      await page.getByText('Local files').first().waitFor();
      expect(page.url()).toBe(`${url}/#`);
      // A visitor who opens the same address later is not signed in.
      const other = await (await browser.newContext()).newPage();
      await other.goto(address);
      await other.getByText('has already been used, or has expired').first().waitFor();
      expect(other.url()).toBe(`${url}/#sign-in`);
      await browser.close();
    }
    expect((await redeem(secret)).status).toBe(401);
    // Only the banner contains the secret.
    expect(server.output().split(secret)).toHaveLength(2);
    await stop();
  });

  it('shows the files to everyone with --public, and no longer without it', async () => {
    await start(['--public']);
    expect(server.output()).toContain('Visible   to everybody');
    expect(await collections()).toEqual(['Local files']);
    await stop();
    await start([]);
    expect(await collections()).toEqual([]);
    await stop();
  });

  it('notices new files while it runs, automatically and when an administrator asks', async () => {
    await start([]);
    const picture = join(work, 'slides', 'red.png');
    await copyFile(picture, join(work, 'slides', 'second.png'));
    await until('the file is noticed', () => server.output().includes('Served files: 1 added'), 150_000);
    await mkdir(join(work, 'slides', 'new'));
    await copyFile(picture, join(work, 'slides', 'new', 'third.png'));
    const { authToken } = (await (await redeem(linkIn(server.output())![2]!)).json()) as { authToken: { token: string } };
    const rescan = (headers: Record<string, string>) => fetch(`${url}/api/v1/system/rescan`, { method: 'POST', headers });
    expect((await rescan({})).status).toBe(401);
    const answer = await rescan({ Authorization: `Bearer ${authToken.token}` });
    expect([answer.status, await answer.json()]).toMatchObject([200, { files: 3, missing: 0 }]);
    await stop();
    await rm(join(work, 'slides', 'second.png'));
    await rm(join(work, 'slides', 'new'), { recursive: true });
  });

  it('prints no sign-in link when other machines can reach the server', async () => {
    await start([], { HOST: '0.0.0.0' });
    expect(linkIn(server.output())).toBeNull();
    expect(server.output()).toContain('Login     admin');
    await stop();
  });
});
