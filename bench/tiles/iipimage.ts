import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { freePort } from '../../test/support/hosts/listening.js';

/** A running IIPImage server. */
export interface IipImage {
  url: string;
  /** The path of a stored tile; `resolution` 0 is the coarsest, `index` counts row by row. */
  tilePath(file: string, resolution: number, index: number): string;
  close(): Promise<void>;
}

function findProgram(name: string, folders: readonly string[]): string | null {
  const places = [...(process.env.PATH ?? '').split(delimiter), ...folders];
  return places.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/**
 * Starts IIPImage behind nginx, as it is usually run: both on loopback ports, with their own configuration in a temporary
 * folder.
 *
 * @returns `null`, after printing the reason, if one of the programs is not installed or does not answer.
 */
export async function startIipImage(imageFile: string): Promise<IipImage | null> {
  const iipsrv = findProgram('iipsrv.fcgi', ['/usr/lib/iipimage-server', '/usr/libexec/iipsrv', '/usr/local/bin']);
  const nginx = findProgram('nginx', ['/usr/sbin', '/usr/local/sbin']);
  if (iipsrv === null || nginx === null) {
    console.log(`IIPImage skipped: ${iipsrv === null ? 'iipsrv.fcgi' : 'nginx'} is not installed`);
    return null;
  }
  const folder = await mkdtemp(join(tmpdir(), 'bench-iipimage-'));
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children) {
      const exit = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGTERM')) await exit;
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [backend, port] = [await freePort(), await freePort()];
    const environment = { ...process.env, LOGFILE: join(folder, 'iipsrv.log'), VERBOSITY: '0', FILESYSTEM_PREFIX: '' };
    children.push(spawn(iipsrv, ['--bind', `127.0.0.1:${backend}`], { env: environment, stdio: 'ignore' }));
    await mkdir(join(folder, 'temp'));
    const configuration = join(folder, 'nginx.conf');
    await writeFile(configuration, nginxConfiguration({ folder, backend, port }));
    children.push(spawn(nginx, ['-c', configuration, '-p', folder, '-e', join(folder, 'error.log')], { stdio: 'ignore' }));
    const url = `http://127.0.0.1:${port}`;
    const tilePath: IipImage['tilePath'] = (file, resolution, index) =>
      `/iip?FIF=${encodeURIComponent(file)}&JTL=${resolution},${index}`;
    const deadline = Date.now() + 5000;
    for (;;) {
      const answer = await fetch(url + tilePath(imageFile, 0, 0)).catch(() => null);
      if (answer?.headers.get('content-type') === 'image/jpeg') break;
      if (Date.now() > deadline) {
        console.log(`IIPImage skipped: it answers ${answer === null ? 'nothing' : `${answer.status}`} for ${dirname(imageFile)}`);
        await close();
        return null;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return { url, tilePath, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function nginxConfiguration({ folder, backend, port }: { folder: string; backend: number; port: number }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/temp/${name};`,
  );
  return `daemon off; master_process off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off; keepalive_requests 100000000; ${temporary.join(' ')}
  upstream iip { server 127.0.0.1:${backend}; keepalive 32; }
  server {
    listen 127.0.0.1:${port};
    location /iip {
      fastcgi_pass iip; fastcgi_keep_conn on;
      fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param HTTP_HOST $http_host; fastcgi_param REQUEST_URI $request_uri; fastcgi_param SERVER_PROTOCOL $server_protocol;
    }
  }
}
`;
}
