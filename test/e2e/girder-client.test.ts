import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { startHost } from '../support/reference-host.js';

/** The Python to use: PYTHON names one in which `pip install girder_client` was run. */
const python = process.env.PYTHON ?? 'python3';

function missing(): string | null {
  const found = spawnSync(python, ['-c', 'import girder_client'], { encoding: 'utf8' });
  if (found.error) return `${python} cannot be run: ${found.error.message}`;
  return found.status === 0 ? null : `${python} has no package girder_client (pip install girder_client)`;
}

const reason = missing();
if (reason !== null) console.warn(`skipped: the session of girder_client, because ${reason}`);

describe('the Python library girder_client', () => {
  it.skipIf(reason !== null)(
    'uploads, lists, resumes, downloads, sets metadata and permissions, sees tiles and jobs',
    async () => {
      const server = await startHost();
      const work = await mkdtemp(join(tmpdir(), 'girder-client-'));
      try {
        const admin = await server.register('admin');
        await server.host.jobs.create({ title: 'for a Python client', type: 'python', userId: admin.id });
        const script = fileURLToPath(new URL('./girder_client_session.py', import.meta.url));
        const slide = join(work, 'slide.tif');
        const plain = { width: 5000, height: 4500, channels: 3, background: { r: 180, g: 90, b: 120 } } as const;
        await sharp({ create: plain })
          .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'none' })
          .toFile(slide);
        const { stdout } = await promisify(execFile)(python, [script, server.url, work, slide]);
        expect(stdout.trim().split('\n').at(-1)).toBe('ok');
        // Everything was removed in the end: so are the bytes. What remains names the store itself.
        const left = await readdir(server.dataDirectory, { recursive: true, withFileTypes: true });
        expect(left.filter((entry) => entry.isFile()).map((entry) => entry.name)).toEqual(['store-id']);
      } finally {
        await server.close();
        await rm(work, { recursive: true, force: true });
      }
    },
    180_000,
  );
});
