import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordedBody } from '../../support/hosts/recorded-body.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

/** A request to the established implementation, and its response. */
interface Example {
  name: string;
  request: { method: string; path: string; user: string | null; params?: Record<string, string>; data?: string };
  status: number;
  body: { kind: string; json?: unknown };
}

const file = '../shared/spec/examples.jsonl';
const noExamples = existsSync(file) ? null : `${file} is not there`;
const administration = /^\/large_image\/(cache|config|settings|sources)|^\/system\/setting/;

const examples = (noExamples === null ? readFileSync(file, 'utf8').trim().split('\n') : [])
  .map((line) => JSON.parse(line) as Example)
  .filter(({ name, request }) => administration.test(request.path) && !name.endsWith('.value'));

/** Numbers that depend on the machine, and sources that only others have. Only their shape is compared. */
const shapes: Readonly<Record<string, (value: never) => void>> = {
  'cache.get': (value: Record<string, unknown>) =>
    expect(value).toEqual({
      tileCache: { items: expect.any(Number), maxsize: expect.any(Number), used: expect.any(Number) },
      tilesource: { maxsize: expect.any(Number), used: expect.any(Number) },
    }),
  'cache.clear': (value: Record<string, unknown>) =>
    expect(Object.keys(value).toSorted()).toEqual(['after', 'before', 'cacheCleared']),
  'sources.get': (value: Record<string, { extensions: object; mimeTypes: object; version: string }>) => {
    expect(Object.keys(value)).toEqual(expect.arrayContaining(['tiff', 'sharp', 'test']));
    for (const { extensions, mimeTypes, version } of Object.values(value)) {
      expect(typeof version).toBe('string');
      for (const priority of [...Object.values(extensions), ...Object.values(mimeTypes)])
        expect(priority).toSatisfy(Number.isInteger);
    }
  },
};

describe.skipIf(noExamples !== null)(`recorded responses${noExamples === null ? '' : ` (skipped: ${noExamples})`}`, () => {
  let started: TestHost;
  let admin: Client;

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
  });
  afterAll(() => started?.close());

  it.each(examples.map((example) => [example.name, example] as const))('%s', async (name, { request, status, body }) => {
    const client = request.user === null ? started.anonymous : admin;
    const answer = await client.send(request.method, request.path, {
      ...(request.params && { query: request.params }),
      ...(request.data !== undefined && { body: request.data }),
    });
    expect(answer.status).toBe(status);
    const shape = shapes[name];
    if (shape !== undefined) shape(answer.body as never);
    else if (name === 'settings.get') {
      const recorded = body.json as Record<string, unknown>;
      expect(answer.body).toMatchObject(recorded);
    } else expect(recordedBody(answer)).toEqual(body.json);
  });
});
