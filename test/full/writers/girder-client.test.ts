import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

/** The Python to use: PYTHON names one in which `pip install girder_client` was run. */
const python = process.env.PYTHON ?? 'python3';

function missing(): string | null {
  const result = spawnSync(python, ['-c', 'import girder_client'], { encoding: 'utf8' });
  if (result.error) return `${python} cannot be run: ${result.error.message}`;
  return result.status === 0 ? null : `${python} has no package girder_client (pip install girder_client)`;
}

const reason = missing();
if (reason !== null) console.warn(`skipped: the session of girder_client, because ${reason}`);

/**
 * Runs a script against a new host, with a folder for its files and a slide of more than one chunk. @returns the files that are
 * left
 */
async function runScript(name: string, prepare: (server: TestHost, admin: Client) => Promise<unknown> = async () => undefined) {
  const server = await startHost();
  const work = await mkdtemp(join(tmpdir(), 'girder-client-'));
  try {
    await prepare(server, await server.register('admin'));
    const script = fileURLToPath(new URL(name, import.meta.url));
    const slide = join(work, 'slide.tif');
    const plain = { width: 5000, height: 4500, channels: 3, background: { r: 180, g: 90, b: 120 } } as const;
    await sharp({ create: plain })
      // 2000 pixels per millimeter correspond to a 20× objective.
      .withMetadata({ density: 50_800 })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'none', xres: 2000, yres: 2000 })
      .toFile(slide);
    const { stdout } = await promisify(execFile)(python, [script, server.url, work, slide]);
    expect(stdout.trim().split('\n').at(-1)).toBe('ok');
    const left = await readdir(server.dataDirectory, { recursive: true, withFileTypes: true });
    return left.filter((entry) => entry.isFile()).map((entry) => entry.name);
  } finally {
    await server.close();
    await rm(work, { recursive: true, force: true });
  }
}

describe.skipIf(reason !== null)('the Python library girder_client', () => {
  it('uploads, lists, resumes, downloads, sets metadata and permissions, sees tiles and jobs', async () => {
    const left = await runScript('./girder_client_session.py', ({ host }, admin) =>
      host.jobs.create({ title: 'for a Python client', type: 'python', userId: admin.id }),
    );
    // Everything was removed in the end, including the bytes. Only the file that identifies the store remains.
    expect(left).toEqual(['store-id']);
  });

  it('runs scripts of image analysis: regions in every unit, annotations, 200 MB over a connection that breaks', async () => {
    expect(await runScript('./analysis_session.py')).toEqual(['store-id']);
  });
});
