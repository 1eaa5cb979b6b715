import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

describe('npm start -- --worker', () => {
  let started: TestHost;
  let worker: ServerProcess;

  beforeAll(async () => {
    started = await startHost();
    // This process serves and queues, and leaves the jobs to the other one.
    await started.host.host.agenda.stop(false);
    worker = startServer(['--worker'], {
      MONGODB_URI: started.databaseUri,
      DATA_DIR: started.dataDirectory,
      BRAND: 'girder',
    });
  });
  afterAll(async () => {
    worker?.kill('SIGKILL');
    await started?.close();
  });

  it('runs the jobs of a server, and stops on request', async () => {
    const admin = await started.register('admin');
    const item = await uploadItem(admin, await newFolder(admin, 'Images'), 'image.tif', await pyramid());
    const { _id } = await admin.ok('POST', `/item/${item}/tiles/convert`, { query: { localJob: false, name: 'copy.tiff' } });
    const job = await until('the job has ended', async () => {
      const job = await admin.ok('GET', `/job/${String(_id)}`);
      return [3, 4, 5].includes(Number(job.status)) && job;
    });
    expect([job.status, job.log]).toEqual([
      3,
      [
        'Started large image conversion\n',
        'Copied the tiles of 3 of 3 levels of frame 0\n',
        'Storing result\n',
        'Finished large image conversion\n',
      ],
    ]);
    expect(worker.output()).toContain('Running jobs of ');
    worker.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });
});
