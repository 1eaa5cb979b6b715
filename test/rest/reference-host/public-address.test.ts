import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';

/** The addresses in responses to a request with these headers. */
async function addresses(client: Client, item: string, headers: Record<string, string>) {
  const get = async (path: string, more: Record<string, string> = {}) => {
    const { status, body } = await client.send('GET', path, { headers: { ...headers, ...more } });
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  };
  const { servers } = (await get('/describe/openapi.json')) as { servers: { url: string }[] };
  const { basePath, host, schemes } = await get('/describe');
  const iiif = await get(`/iiif/${item}/info.json`);
  const manifest = await get(`/iiif/${item}/manifest.json`);
  return {
    server: servers[0]!.url,
    swagger: `${(schemes as string[])[0]}://${String(host)}${String(basePath)}`,
    iiif: iiif.id,
    manifest: manifest.id,
  };
}

const expected = (item: string, origin: string, prefix: string) => ({
  server: `${prefix}/api/v1`,
  swagger: `${origin}${prefix}/api/v1`,
  iiif: `${origin}${prefix}/api/v1/iiif/${item}`,
  manifest: `${origin}${prefix}/api/v1/iiif/${item}/manifest.json`,
});

describe('below a path', () => {
  let server: TestHost;
  let admin: Client;
  let item: string;
  beforeAll(async () => {
    server = await startHost({ trustProxy: 'loopback' });
    admin = await server.register('admin');
    item = await uploadItem(admin, await newFolder(admin, 'prefixed', true), 'a.tiff', await pyramid(300, 200));
  });
  afterAll(() => server.close());
  const cookieOf = async (headers: Record<string, string>) => {
    const { headers: sent } = await server.anonymous.send('GET', '/user/authentication', {
      headers: { ...headers, Authorization: `Basic ${btoa('admin:admin.password')}` },
    });
    return sent.get('set-cookie');
  };

  it('addresses begin with the prefix that a trusted proxy states', async () => {
    const headers = { 'X-Forwarded-Prefix': '/images/of/', 'X-Forwarded-Host': 'host.example', 'X-Forwarded-Proto': 'https' };
    expect(await addresses(admin, item, headers)).toEqual(expected(item, 'https://host.example', '/images/of'));
    expect(await cookieOf(headers)).toMatch(/; Path=\/images\/of; .*Secure/);
    const page = await server.anonymous.send('GET', '/describe', { headers: { ...headers, Accept: 'text/html' } });
    expect(page.bytes.toString()).toContain('src="/images/of/api/v1/describe/assets/describe.js"');
  });

  it.each([
    '//evil.example',
    '/a/../b',
    '/a b',
    'images',
    'https://evil.example',
    '/a"><script>',
    `/${'x'.repeat(400)}`,
    '/%0d%0ax?y',
  ])('an invalid prefix is ignored: %s', async (prefix) => {
    const actual = await addresses(admin, item, { 'X-Forwarded-Prefix': prefix });
    expect(actual).toEqual(expected(item, server.url, ''));
  });

  it('the header of a proxy that is not trusted is ignored', async () => {
    const plain = await startHost();
    try {
      const { body } = await plain.anonymous.send('GET', '/describe/openapi.json', {
        headers: { 'X-Forwarded-Prefix': '/images' },
      });
      expect(body).toMatchObject({ servers: [{ url: '/api/v1' }] });
    } finally {
      await plain.close();
    }
  });

  it('addresses begin with core.server_root, whose path is optional in requests', async () => {
    await server.host.settings.set('core.server_root', 'https://host.example/images/');
    try {
      expect(await addresses(admin, item, {})).toEqual(expected(item, 'https://host.example', '/images'));
      const get = (path: string) => fetch(`${server.url}${path}`, { redirect: 'manual' });
      expect((await get('/images/api/v1/system/version')).status).toBe(200);
      expect((await get('/images//api/v1/system/version')).status).toBe(200);
      expect(await (await get('/images/')).text()).toContain('data-api-root="api/v1"');
      const bare = await get('/images?x=1');
      expect([bare.status, bare.headers.get('location')]).toEqual([308, '/images/?x=1']);
      expect((await get('/imagesx/api/v1/system/version')).status).toBe(404);
      expect(await cookieOf({ Host: 'host.example' })).toMatch(/; Path=\/images; .*Secure/);
      // A user on the same machine does not use the prefix.
      expect(await cookieOf({})).toMatch(/; Path=\/; /);
      expect(await addresses(admin, item, { 'X-Forwarded-Prefix': '/other', 'X-Forwarded-Host': 'b.example' })).toEqual(
        expected(item, 'http://b.example', '/other'),
      );
    } finally {
      await server.host.settings.set('core.server_root', '');
    }
  });

  it.each(['nonsense', 'ftp://host/', 'https://host/a?b', 'https://u:p@host/', 'https://host/a/../..//b', 7, {}])(
    'core.server_root cannot be %j',
    async (value) => {
      const { status, body } = await admin.send('PUT', '/system/setting', {
        query: { key: 'core.server_root', value: JSON.stringify(value) },
      });
      expect([status, body.message]).toEqual([400, expect.stringContaining('such as https://host/images')]);
    },
  );
});
