import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStackHost, type StackHost } from '../../support/images/stacks.js';

describe('composite thumbnails', () => {
  let host: StackHost;
  const paths = { plain: '', stack: '' };

  beforeAll(async () => {
    host = await startStackHost();
    for (const [name, id] of Object.entries({ plain: host.plain, stack: host.item }))
      paths[name as keyof typeof paths] = `/item/${id}/tiles/thumbnail`;
  });

  afterAll(() => host.started.close());

  const picture = async (path: string, query: Record<string, string | number>) => {
    const { status, bytes } = await host.admin.send('GET', path, { query: { width: 64, encoding: 'PNG', ...query } });
    expect(status).toBe(200);
    return Buffer.from(bytes).toString('base64');
  };

  it('mix the channels at the middle plane, as an explicit style does', async () => {
    const bands = [
      { framedelta: 0, palette: '#ff0000' },
      { framedelta: 1, palette: '#00ff00' },
    ].map((band) => ({ ...band, min: 'min:0.001', max: 'max:0.001' }));
    const composite = await picture(paths.stack, { composite: 'true' });
    expect(composite).toBe(await picture(paths.stack, { frame: 2, style: JSON.stringify({ bands }) }));
    expect(composite).not.toBe(await picture(paths.stack, {}));
    expect(await picture(paths.stack, { composite: 'false' })).toBe(await picture(paths.stack, {}));
  });

  it('are plain thumbnails of images without channels, and of requests with a style or frame', async () => {
    expect(await picture(paths.plain, { composite: 'true' })).toBe(await picture(paths.plain, {}));
    const style = JSON.stringify({ min: 0, max: 100 });
    expect(await picture(paths.stack, { composite: 'true', frame: 1, style })).toBe(
      await picture(paths.stack, { frame: 1, style }),
    );
  });
});
