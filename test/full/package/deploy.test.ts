import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { environmentVariables } from '../../../src/reference-host/start/options.js';
import { noNginx, startNginx } from '../../support/hosts/nginx.js';
import { until } from '../../support/run/until.js';

const python = process.env.PYTHON ?? 'python3';
const noKubernetes =
  spawnSync(python, ['-c', 'import kubernetes_validate']).status === 0 ? null : 'Python has no kubernetes-validate';
const noSystemd = spawnSync('systemd-analyze', ['--version']).status === 0 ? null : 'systemd-analyze is not installed';
const files = async (folder: string) => (await readdir(`deploy/${folder}`)).map((name) => `deploy/${folder}/${name}`);

describe('the files in deploy/', () => {
  it.skipIf(noKubernetes !== null)(
    `manifests of Kubernetes match its schemas${noKubernetes === null ? '' : ` (skipped: ${noKubernetes})`}`,
    async () => {
      for (const file of await files('kubernetes')) {
        const { status, stdout, stderr } = spawnSync(python, ['-m', 'kubernetes_validate', '--strict', file], {
          encoding: 'utf8',
        });
        expect({ file, status, said: status === 0 ? '' : stdout + stderr }).toEqual({ file, status: 0, said: '' });
      }
    },
  );

  it.skipIf(noSystemd !== null)(`units of systemd are valid${noSystemd === null ? '' : ` (skipped: ${noSystemd})`}`, async () => {
    for (const file of await files('systemd')) {
      const { stderr } = spawnSync('systemd-analyze', ['verify', `./${file}`], { encoding: 'utf8' });
      expect(stderr.split('\n').filter((line) => line.includes('express-large-image'))).toEqual([]);
    }
  });

  it.skipIf(noNginx !== null)(`nginx accepts its configuration${noNginx === null ? '' : ` (skipped: ${noNginx})`}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nginx-test-'));
    const text = (await readFile('deploy/nginx.conf', 'utf8'))
      // Names are looked up when the configuration is read.
      .replace('server server:8080', 'server 127.0.0.1:8080')
      .replace('listen 80;', 'listen 127.0.0.1:8081;')
      .replace('/var/log/nginx/access.log', `${folder}/access.log`)
      .replace(/^worker_processes/m, `pid ${folder}/pid;\nworker_processes`);
    await writeFile(join(folder, 'nginx.conf'), text);
    const { status, stderr } = spawnSync(
      'nginx',
      ['-t', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'log')],
      {
        encoding: 'utf8',
      },
    );
    await rm(folder, { recursive: true, force: true });
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.skipIf(noNginx !== null)('nginx writes no token to its access log', async () => {
    const server = createServer((_request, response) => response.end('answer')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const nginx = await startNginx([(server.address() as AddressInfo).port]);
    try {
      const paths = [
        '/api/v1/item/1/zarr/t/SECRET/slide.ome.zarr/0/c/0/0/0',
        '/api/v1/item/1/zarr2/t/SECRET',
        '/api/v1/folder/1/zarr/t/SECRET/all.ome.zarr/0/t/1/zarr.json',
        '/api/v1/dicomweb/t/SECRET/studies?limit=5&token=SECRET',
        '/api/v1/dicomweb/T/SECRET/studies',
        '/api/v1/item/1/tiles?token=SECRET',
      ];
      for (const path of paths) expect((await fetch(nginx.url + path)).status).toBe(200);
      await until('all requests are in the log', async () => (await nginx.accessLog()).split('"GET /api').length > paths.length);
      const log = await nginx.accessLog();
      expect(log).toContain('/api/v1/item/1/zarr/t/***/slide.ome.zarr/0/c/0/0/0');
      expect(log).not.toContain('SECRET');
    } finally {
      await nginx.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('units of systemd that share a folder have the same user', async () => {
    const texts = await Promise.all((await files('systemd')).map((file) => readFile(file, 'utf8')));
    const settings = texts.map((text) => [...text.matchAll(/^(?:User|StateDirectory)=.*$/gm)].map(([line]) => line).toSorted());
    expect(settings).toHaveLength(2);
    expect(settings[0]).toEqual(['StateDirectory=express-large-image', 'User=express-large-image']);
    expect(settings[1]).toEqual(settings[0]);
  });

  it('Compose uses only variables that the server reads', async () => {
    const { services } = load(await readFile('deploy/compose.yaml', 'utf8')) as {
      services: Record<string, { environment?: Record<string, string> }>;
    };
    const variables = new Set<string>(environmentVariables.map(([name]) => name));
    const names = Object.keys(services.server?.environment ?? {});
    expect(names).toContain('MONGODB_URI');
    // Settings of the configuration file are read from LARGE_IMAGE_ and their keys.
    expect(names.filter((name) => !variables.has(name) && !name.startsWith('LARGE_IMAGE_CACHE_'))).toEqual([]);
  });
});
