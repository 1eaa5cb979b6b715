import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let host: TestHost;
let admin: Client;
beforeAll(async () => {
  host = await startHost();
  admin = await host.register('admin');
});
afterAll(() => host?.close());

it('every route refuses deeply nested JSON in parameters', async () => {
  const listed = host.host.routes.flatMap(({ method, path, query = {} }) =>
    Object.entries(query).flatMap(([name, { schema }]) =>
      schema.type === 'object' || schema.type === 'array' ? [{ method: method.toUpperCase(), path, name, query }] : [],
    ),
  );
  expect(listed.length).toBeGreaterThan(15);
  for (const { method, path, name, query } of listed) {
    const others = Object.entries(query).filter(([other, { required }]) => required && other !== name);
    const form = Object.fromEntries(others.map(([other, { schema }]) => [other, String(schema.enum?.[0] ?? 'a'.repeat(24))]));
    const deep = `{"item":${'['.repeat(60_000)}${']'.repeat(60_000)}}`;
    const sent = query[name]!.schema.type === 'object' ? deep : `[${deep}]`;
    const address = path.replaceAll(/:\w+/g, 'a'.repeat(24));
    const headers = { 'X-HTTP-Method-Override': method };
    const { status, body } = await admin.send('POST', address, { form: { ...form, [name]: sent }, headers });
    expect([method, path, name, status]).toEqual([
      method,
      path,
      name,
      expect.toSatisfy((code: number) => code === 400 || code === 413),
    ]);
    expect(JSON.stringify(body)).not.toContain('internal');
  }
});

it('the server refuses queries with too many conditions, and conditions on hidden fields', async () => {
  const many = JSON.stringify({ $or: Array.from({ length: 2000 }, () => ({ name: 'a' })) });
  const values = JSON.stringify({ size: { $in: Array.from({ length: 30_000 }, () => 1) } });
  for (const path of ['/item/query', '/folder/query', '/file/query']) {
    for (const query of [many, values]) {
      const answer = await admin.send('POST', path, { form: { query }, headers: { 'X-HTTP-Method-Override': 'GET' } });
      expect([path, answer.status, answer.body.message]).toEqual([path, 400, expect.stringContaining('at most 1000 conditions')]);
    }
    const wrong = await admin.fails('GET', path, { query: { query: '{"name":{"$in":[{"$regex":"a"}]}}' } });
    expect([path, wrong.status]).toEqual([path, 400]);
  }
  const eve = await host.register('evelyn');
  const accessQuery = JSON.stringify({ $or: [{ 'access.users': { $elemMatch: { id: admin.id, level: 2 } } }] });
  expect(await eve.fails('GET', '/folder/query', { query: { query: accessQuery } })).toMatchObject({ status: 400 });
  for (const path of ['/collection', '/group', '/folder']) {
    const query = { parentType: 'user', parentId: String(eve.id), sort: 'access.users.0.level' };
    expect([path, (await eve.send('GET', path, { query })).status]).toEqual([path, 400]);
  }
});

it('the server limits the length of lists in settings', async () => {
  const list = JSON.stringify(Array.from({ length: 1001 }, () => 'core.brand_name'));
  for (const path of ['/system/setting', '/system/setting/default']) {
    const answer = await admin.send('POST', path, { form: { list }, headers: { 'X-HTTP-Method-Override': 'GET' } });
    expect([path, answer.status]).toEqual([path, 400]);
  }
});
