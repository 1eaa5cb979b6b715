import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const place = await mkdtemp(join(tmpdir(), 'full-disk-'));

/** The reason why no small file system can be mounted here; `null` if it is mounted. */
function mountSmallDisk(): string | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', place], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return `no file system can be mounted: ${String(error).split('\n')[0]}`;
  }
}

const notMounted = mountSmallDisk();
if (notMounted !== null) console.warn(`skipped: ${notMounted}`);

describe.skipIf(notMounted !== null)(`a full disk${notMounted === null ? '' : ` (skipped: ${notMounted})`}`, () => {
  const filler = join(place, 'filler');
  const configFile = join(place, 'server.cfg');
  const noSpace = { message: 'There is no space left on the disk of the server.', type: 'rest' };
  const defaultTemporary = process.env.TMPDIR;
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let item: string;
  let image: Buffer;

  const fill = async () => {
    const block = Buffer.alloc(64 * 1024, 1);
    await expect(
      (async () => {
        for (;;) await writeFile(filler, block, { flag: 'a' });
      })(),
    ).rejects.toMatchObject({ code: 'ENOSPC' });
  };
  const run = async (spec: unknown) => {
    const job = await admin.ok('PUT', '/large_image/thumbnails', { form: { spec: JSON.stringify(spec) } });
    return endedJob(admin, String(job._id));
  };
  const convert = async () => {
    const job = await admin.ok('POST', `/item/${item}/tiles/convert`, { query: { name: 'copy.tiff' } });
    return endedJob(admin, String(job._id));
  };
  const replace = (text: string) => admin.send('POST', '/large_image/config/replace', { body: text, query: { restart: false } });
  const names = async () =>
    (await admin.ok('GET', '/item', { query: { folderId: folder } })).map((each) => (each as { name: string }).name).toSorted();

  beforeAll(async () => {
    await mkdir(join(place, 'temporary'));
    started = await startHost({ dataDirectory: join(place, 'data'), install: { configFile } });
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Images');
    image = await pyramid();
    item = await uploadItem(admin, folder, 'image.tif', image);
    expect((await replace('[a]\nb = 1\n')).status).toBe(200);
    process.env.TMPDIR = join(place, 'temporary');
    await fill();
  });
  afterAll(async () => {
    process.env.TMPDIR = defaultTemporary;
    await started?.close();
    if (notMounted === null) execFileSync('umount', ['-l', place]);
    await rm(place, { recursive: true, force: true });
  });

  it('is reported, and leaves nothing half done', async () => {
    const query = { parentType: 'folder', parentId: folder, name: 'more.tif', size: image.length };
    const refused = await admin.send('POST', '/file', { query, body: image });
    expect([refused.status, refused.body]).toMatchObject([507, noSpace]);

    const replaced = await replace(`[a]\nb = ${JSON.stringify('x'.repeat(20_000))}\n`);
    expect(replaced.status).toBe(507);
    expect(String(replaced.body.message)).toContain('the disk is full');
    expect((await admin.ok('GET', '/large_image/config')).text).toBe('[a]\nb = 1\n');

    // Pictures are returned but not stored, and the job reports that it could not store them.
    const thumbnail = await admin.send('GET', `/item/${item}/tiles/thumbnail`, { query: { width: 90 } });
    expect([thumbnail.status, thumbnail.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    const job = await run([{ width: 300, encoding: 'PNG' }]);
    expect(job.log.at(-1)).toBe(
      `Finished: Checked 0, created 0 thumbnail files\nFailed on 1 thumbnail file (last failure on item ${item})\n`,
    );
    expect(await admin.ok('GET', '/large_image/thumbnails')).toBe(0);

    const conversion = await convert();
    expect(conversion.status).toBe(4);
    expect(conversion.log.at(-1)).toMatch(/^Failed in large image conversion \(There is no space left .*\)\n$/);

    expect(await names()).toEqual(['image.tif']);
    expect((await readdir(place)).toSorted()).toEqual(['data', 'filler', 'server.cfg', 'temporary']);
    expect((await readdir(join(place, 'temporary'))).filter((name) => name.includes('conversion'))).toEqual([]);
  });

  it('has no further effect once there is space', async () => {
    await rm(filler);
    expect((await run([{ width: 300, encoding: 'PNG' }])).log.at(-1)).toBe('Finished: Checked 0, created 1 thumbnail files\n');
    expect((await replace('[a]\nb = 2\n')).body.status).toBe('updated');
    expect((await convert()).status).toBe(3);
    await uploadItem(admin, folder, 'more.tif', image);
    await until('all are there', async () => (await names()).join() === 'copy.tiff,image.tif,more.tif');
  });

  it('reports a read-only file system, and still serves its files', async () => {
    const before = await names();
    execFileSync('mount', ['-o', 'remount,ro', place]);
    try {
      const query = { parentType: 'folder', parentId: folder, name: 'late.tif', size: image.length };
      const refused = await admin.send('POST', '/file', { query, body: image });
      expect([refused.status, refused.body.message]).toEqual([
        503,
        'The server cannot write its files: their disk is read-only.',
      ]);
      expect((await replace('[a]\nb = 3\n')).status).toBe(503);
      expect((await admin.send('GET', `/item/${item}/tiles/region`, { query: { width: 50 } })).status).toBe(200);
      expect((await run([{ width: 301, encoding: 'PNG' }])).log.at(-1)).toMatch(
        /^Finished: Checked 0, created 0 .*\nFailed on 3 /,
      );
    } finally {
      execFileSync('mount', ['-o', 'remount,rw', place]);
    }
    expect(await names()).toEqual(before);
    expect((await admin.ok('GET', '/large_image/config')).text).toBe('[a]\nb = 2\n');
  });
});
