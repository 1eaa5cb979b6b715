/** The DICOM server Orthanc fetches studies from here with its DICOMweb plugin. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { freePort } from '../../support/hosts/listening.js';
import { until } from '../../support/run/until.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const orthanc = ['/usr/sbin/Orthanc', '/usr/local/sbin/Orthanc'].find((path) => existsSync(path)) ?? null;
const plugins = '/usr/lib/orthanc';
const plugin = existsSync(plugins) ? readdirSync(plugins).find((name) => name.startsWith('libOrthancDicomWeb')) : undefined;
if (orthanc === null || plugin === undefined)
  console.warn('skipped: Orthanc, because the Debian packages orthanc and orthanc-dicomweb are not installed');

describe.skipIf(orthanc === null || plugin === undefined)('Orthanc', () => {
  let started: TestHost;
  let admin: Client;
  let directory: string;
  let program: ChildProcess;
  let url: string;

  const ask = async (path: string, init: RequestInit = {}): Promise<Buffer> => {
    const answer = await fetch(`${url}${path}`, init);
    const body = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${body.toString()}`);
    return body;
  };
  const json = async <T>(path: string, init?: RequestInit) => JSON.parse((await ask(path, init)).toString()) as T;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    directory = await mkdtemp(join(tmpdir(), 'orthanc-'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const server = { Url: `${started.url}/api/v1/dicomweb/`, HttpHeaders: { Authorization: `Bearer ${admin.token}` } };
    const options = {
      StorageDirectory: directory,
      IndexDirectory: directory,
      HttpPort: port,
      HttpBindAddresses: ['127.0.0.1'],
      DicomServerEnabled: false,
      AuthenticationEnabled: false,
      Plugins: [join(plugins, plugin!)],
      DicomWeb: { Enable: true, Servers: { here: server } },
    };
    const path = join(directory, 'orthanc.json');
    await writeFile(path, JSON.stringify(options));
    program = spawn(orthanc!, [path], { stdio: 'ignore' });
    await until('Orthanc listens', async () => (await fetch(`${url}/system`)).ok);
  });
  afterAll(async () => {
    if (program?.exitCode === null) {
      program.kill();
      await once(program, 'exit');
    }
    await started?.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('fetches levels, thumbnail and annotation of a slide, byte for byte', async () => {
    const item = await uploadItem(admin, await newFolder(admin, 'Slides'), 'slide.tif', await pyramid(700, 500));
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { PixelSpacing: 0.0005, PatientID: 'P-1' } });
    const elements = [{ type: 'rectangle', center: [300, 200, 0], width: 90, height: 50 }];
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Shapes', elements } });
    const { studyInstanceUID } = await admin.ok('GET', `/item/${item}/dicomweb`);
    const resources = { Resources: [{ Study: studyInstanceUID }], Synchronous: true };
    await json('/dicom-web/servers/here/retrieve', { method: 'POST', body: JSON.stringify(resources) });
    type Row = Record<string, { Value: [string] }>;
    const study = `/dicomweb/studies/${String(studyInstanceUID)}`;
    const rows = (await admin.send('GET', `${study}/instances`)).body as unknown as Row[];
    expect(rows.map((row) => row['00080060']!.Value[0])).toEqual(['SM', 'SM', 'SM', 'ANN']);
    const fetched = await json<string[]>('/instances');
    const files = new Map<string, Buffer>();
    for (const id of fetched) {
      const { SOPInstanceUID } = await json<{ SOPInstanceUID: string }>(`/instances/${id}/simplified-tags`);
      files.set(SOPInstanceUID, await ask(`/instances/${id}/file`));
    }
    expect(files.size).toBe(rows.length);
    for (const row of rows) {
      const [series, uid] = [row['0020000E']!.Value[0], row['00080018']!.Value[0]];
      const original = await admin.send('GET', `${study}/series/${series}/instances/${uid}`, {
        headers: { Accept: 'application/dicom' },
      });
      expect({ uid, isEqual: files.get(uid)?.equals(original.bytes) }).toEqual({ uid, isEqual: true });
    }
  });
});
