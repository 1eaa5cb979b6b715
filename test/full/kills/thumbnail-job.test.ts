import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

describe('the job that makes thumbnails, killed', () => {
  it('is restarted and leaves whole files only', async () => {
    const database = await startTestDatabase();
    const directory = await mkdtemp(join(tmpdir(), 'thumbnail-job-'));
    const env = { MONGODB_URI: database.uri, ADMIN_PASSWORD: 'admin.password', DATA_DIR: directory, BRAND: 'girder' };
    // Both processes share the database and the files on disk.
    const first = startServer(['--bare'], env);
    let second: ReturnType<typeof startServer> | null = null;
    try {
      const url = await first.url();
      const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'admin.password' };
      const user = await new Client(url, null, null).ok('POST', '/user', { query });
      const token = (user.authToken as { token: string }).token;
      const admin = new Client(url, token, String(user._id));
      const folder = await newFolder(admin, 'Images');
      const image = await pyramid();
      for (let i = 0; i < 3; i++) await uploadItem(admin, folder, `image ${i}.tif`, image);
      await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.max_thumbnail_files', value: '1000' } });
      const spec = Array.from({ length: 40 }, (_, i) => ({ width: 300 + i, encoding: 'PNG' }));
      const sending = { form: { spec: JSON.stringify(spec), concurrent: '2', logInterval: '0.2' } };
      const job = String((await admin.ok('PUT', '/large_image/thumbnails', sending))._id);
      await until('some are made', async () => Number(await admin.ok('GET', '/large_image/thumbnails')) > 5);
      // The log is written at intervals. Entries that a killed process had not written are lost.
      await until('the log is written', async () => {
        const { log } = (await admin.ok('GET', `/job/${job}`)) as { log?: string[] };
        return (log ?? []).some((entry) => entry.startsWith('Started'));
      });
      first.kill('SIGKILL');
      await first.ended;
      second = startServer(['--bare'], env);
      const again = new Client(await second.url(), token, admin.id);
      const before = Number(await again.ok('GET', '/large_image/thumbnails'));
      expect(before).toBeLessThan(120);
      const ended = await endedJob(again, job);
      expect(ended.status).toBe(3);
      const [, checked, created] = /Finished: Checked (\d+), created (\d+) thumbnail files/.exec(ended.log.at(-1)!)!;
      expect(Number(checked) + Number(created)).toBe(120);
      expect(Number(checked)).toBeGreaterThanOrEqual(before);
      expect(await again.ok('GET', '/large_image/thumbnails')).toBe(120);
      expect(ended.log.filter((entry) => entry.startsWith('Started'))).toHaveLength(2);
    } finally {
      first.kill('SIGKILL');
      second?.kill('SIGTERM');
      await Promise.all([first.ended, second?.ended]);
      await database.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
