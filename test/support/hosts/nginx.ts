import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './listening.js';
import { until } from '../run/until.js';

const configuration = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'deploy', 'nginx.conf');
const program = ['nginx', '/usr/sbin/nginx'].find((path) => spawnSync(path, ['-v']).status === 0);

/** Why tests behind nginx cannot run here; `null` if they can. */
export const noNginx: string | null = program === undefined ? 'nginx is not installed' : null;

/**
 * nginx with the configuration of `deploy/`, before servers on these ports. `tlsUrl` is the address for the part of the
 * configuration that is in comments; it ends in `/images`.
 */
export async function startNginx(
  servers: readonly number[],
): Promise<{ url: string; tlsUrl: string; accessLog: () => Promise<string>; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'nginx-'));
  const [port, tlsPort] = [await freePort(), await freePort()];
  const subject = [
    '-subj',
    '/CN=127.0.0.1',
    '-days',
    '2',
    '-keyout',
    join(folder, 'key.pem'),
    '-out',
    join(folder, 'certificate.pem'),
  ];
  spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...subject]);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/t/${name};`);
  const text = (await readFile(configuration, 'utf8'))
    .replace(/^worker_processes.*$/m, `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;`)
    .replace(/^http \{$/m, `http {\n  ${temporary.join(' ')}`)
    .replace(/^ *server server:8080(.*)$/m, (_line, options: string) =>
      servers.map((at) => `server 127.0.0.1:${at}${options}`).join('\n'),
    )
    .replace(/listen 80;/, `listen 127.0.0.1:${port};`)
    .replaceAll(/^ {2}# (server \{| {2}.*|\})$/gm, '  $1')
    .replace(/listen 443 ssl;/, `listen 127.0.0.1:${tlsPort} ssl;`)
    .replaceAll('/etc/nginx/tls', folder)
    .replaceAll('/var/log/nginx', folder);
  await mkdir(join(folder, 't'));
  const path = join(folder, 'nginx.conf');
  await writeFile(path, text);
  const child = spawn(program!, ['-c', path, '-p', folder, '-e', join(folder, 'error.log')], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await until('nginx answers', () =>
    fetch(`${url}/metrics`).then(
      (answer) => answer.status === 404,
      () => false,
    ),
  );
  return {
    url,
    tlsUrl: `https://127.0.0.1:${tlsPort}/images`,
    accessLog: () => readFile(join(folder, 'access.log'), 'utf8'),
    async close() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
