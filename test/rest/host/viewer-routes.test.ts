import express from 'express';
import request from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { mountViewer, readViewer } from '../../../src/reference-host/viewer-routes.js';

const app = express();
let page = '';
let scriptPath = '';

beforeAll(async () => {
  mountViewer(app, await readViewer(), { apiRoot: '/some"api', title: () => Promise.resolve('<Slides & more>') });
  page = (await request(app).get('/')).text;
  scriptPath = `/${/src="([^"]+\/app\.js)"/.exec(page)?.[1] ?? ''}`;
});

describe('the page', () => {
  it('is HTML that is revalidated each time and allows nothing inline or external', async () => {
    const answer = await request(app).get('/').expect(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-cache');
    expect(answer.headers['content-security-policy']).toMatch(/default-src 'none'.*script-src 'self'/);
    expect(answer.headers['content-security-policy']).not.toMatch(/unsafe/);
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)/);
    expect(page).not.toMatch(/\sstyle=|\son\w+=/);
  });

  it.each([
    ['de', 'de', 'Diese Seite braucht JavaScript.'],
    ['de-AT,en;q=0.5', 'de', 'Diese Seite braucht JavaScript.'],
    ['fr', 'en', 'This page needs JavaScript.'],
    ['fr,de;q=0.3,en;q=0.2', 'de', 'Diese Seite braucht JavaScript.'],
    ['en-GB,de;q=0.9', 'en', 'This page needs JavaScript.'],
    ['*', 'en', 'This page needs JavaScript.'],
    [';;q=x', 'en', 'This page needs JavaScript.'],
    [undefined, 'en', 'This page needs JavaScript.'],
  ])('for the languages %s is in %s', async (acceptLanguage, language, sentence) => {
    const answer = await request(app)
      .get('/')
      .set(acceptLanguage === undefined ? {} : { 'Accept-Language': acceptLanguage });
    expect(answer.headers).toMatchObject({ 'content-language': language, vary: 'Accept-Language' });
    expect(answer.text).toContain(`<html lang="${language}"`);
    expect(answer.text).toContain(sentence);
  });

  it('contains the given values, escaped', () => {
    expect(page).toContain('data-api-root="some&quot;api"');
    expect(page).toContain('<title>&lt;Slides &amp; more&gt;</title>');
    expect(page).not.toMatch(/\{\{|\}\}/);
  });
});

describe('assets', () => {
  it('named in the page are served with their type, and can be cached forever', async () => {
    const paths = [...page.matchAll(/(?:src|href)="(viewer\/[^"]+)"/g)].map((match) => `/${match[1]!}`);
    expect(paths.length).toBeGreaterThan(5);
    const types: Record<string, RegExp> = { js: /^text\/javascript/, css: /^text\/css/, svg: /^image\/svg\+xml/ };
    for (const path of new Set(paths)) {
      const answer = await request(app).get(path).expect(200);
      expect(answer.headers['content-type']).toMatch(types[path.split('.').at(-1)!]!);
      expect(answer.headers['cache-control']).toContain('immutable');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('import only modules that are served', async () => {
    const visited = new Set<string>();
    const open = [scriptPath];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (visited.has(path)) continue;
      visited.add(path);
      const { text } = await request(app).get(path).expect(200);
      for (const [, target] of text.matchAll(/(?:from|import)\s*\(?"(\.\/[^"]+)"/g)) {
        open.push(new URL(target!, `http://host${path}`).pathname);
      }
    }
    // The page, what it shares with the element, and the library that draws tiles.
    expect(visited.size).toBeGreaterThan(2);
  });

  it.each(['tsconfig.json', 'app.ts', 'index.html', '../viewer-routes.ts', '%2e%2e/viewer-routes.ts', 'nothing.js', ''])(
    'answers 404 for %s, which is not an asset',
    async (name) => {
      const folder = scriptPath.replace(/app\.js$/, '');
      await request(app).get(`${folder}${name}`).expect(404);
    },
  );
});
