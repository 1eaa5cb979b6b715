import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { freePort } from './listening.js';
import { until } from '../run/until.js';

const credentials = { accessKeyId: 'testing', secretAccessKey: 'testing-secret' };
const versitygw = process.env.VERSITYGW ?? 'versitygw';
const python = process.env.PYTHON ?? 'python3';

function works(command: string, words: readonly string[]): boolean {
  return spawnSync(command, words, { stdio: 'ignore', timeout: 60_000 }).status === 0;
}

const gateway = works(versitygw, ['--version'])
  ? ('versitygw' as const)
  : works(python, ['-c', 'import moto.server'])
    ? ('moto' as const)
    : null;

/** Why tests with an S3 gateway cannot run here; `null` if they can. */
export const noGateway: string | null =
  gateway === null ? 'neither versitygw nor the Python package moto[server] is installed (VERSITYGW, PYTHON)' : null;

/** A request that passes through. */
export interface Passing {
  method: string;
  /** Key of the object, empty for a bucket. */
  key: string;
  query: URLSearchParams;
}

/** An S3-compatible gateway with a bucket, and a proxy between it and its clients. */
export interface TestGateway {
  url: string;
  /** The environment variables by which the SDK finds it. */
  env: Record<string, string>;
  client: S3Client;
  /** Requests that have arrived since {@link TestGateway.forget}. */
  requests: Passing[];
  forget(): void;
  /** Delay of each request, in milliseconds. */
  latencyMs: number;
  /** Interrupts the response to a request after this number of bytes of its body; never if `null`. */
  cut: (passing: Passing) => number | null;
  /** Whether the credentials do not permit a request. */
  refuses: (passing: Passing) => boolean;
  close(): Promise<void>;
}

/** Starts a gateway with an empty bucket called `bucket`. */
export async function startGateway(): Promise<TestGateway> {
  const folder = await mkdtemp(join(tmpdir(), 's3-gateway-'));
  await mkdir(join(folder, 'bucket'));
  const port = await freePort();
  const child = startProgram(port, folder);
  const test: TestGateway = {
    url: '',
    env: {},
    client: undefined as never,
    requests: [],
    forget: () => void (test.requests.length = 0),
    latencyMs: 0,
    cut: () => null,
    refuses: () => false,
    async close() {
      test.client?.destroy();
      server.closeAllConnections();
      server.close();
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGKILL')) await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
  const server = createServer((incoming, outgoing) => pass(test, port, incoming, outgoing));
  await listening(server);
  test.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  test.env = {
    AWS_ENDPOINT_URL_S3: test.url,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: 'us-east-1',
  };
  test.client = new S3Client({ endpoint: test.url, region: 'us-east-1', credentials, forcePathStyle: true });
  const { CreateBucketCommand, ListBucketsCommand } = await import('@aws-sdk/client-s3');
  try {
    await until('the gateway answers', () => test.client.send(new ListBucketsCommand()));
    if (gateway === 'moto') await test.client.send(new CreateBucketCommand({ Bucket: 'bucket' }));
  } catch (error) {
    await test.close();
    throw error;
  }
  test.forget();
  return test;
}

function startProgram(port: number, folder: string): ChildProcess {
  const address = `127.0.0.1:${port}`;
  const keys = { ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey };
  const [command, words] =
    gateway === 'versitygw'
      ? [versitygw, ['--port', address, 'posix', folder]]
      : [python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)]];
  return spawn(command, words, { stdio: 'ignore', env: { ...process.env, ...keys } });
}

function pass(test: TestGateway, port: number, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { pathname, searchParams: query } = new URL(incoming.url!, 'http://gateway');
  const passing = { method: incoming.method!, key: decodeURIComponent(pathname.replace(/^\/[^/]*\/?/, '')), query };
  test.requests.push(passing);
  if (test.refuses(passing)) {
    incoming.resume();
    outgoing.writeHead(403, { 'Content-Type': 'application/xml' });
    return void outgoing.end(
      incoming.method === 'HEAD' ? '' : '<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>',
    );
  }
  const forward = () => {
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      const most = test.cut(passing);
      if (most === null) return void answer.pipe(outgoing);
      let sent = 0;
      answer.on('data', (chunk: Buffer) => {
        const part = chunk.subarray(0, most - sent);
        sent += part.length;
        // The bytes before the interruption arrive.
        outgoing.write(part, () => sent >= most && outgoing.destroy());
      });
      answer.on('end', () => outgoing.end());
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  };
  if (test.latencyMs > 0) setTimeout(forward, test.latencyMs);
  else forward();
}

async function listening(server: Server): Promise<void> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
}
