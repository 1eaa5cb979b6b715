import { afterAll, beforeAll, describe, it } from 'vitest';
import { newFolder } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { fewKnownFiles } from '../../support/zarr/known-images.js';
import { expectServed, uploadKnown } from '../../support/zarr/served-samples.js';

// test/full/writers/zarr-samples.test.ts tests all of them.
describe('samples that are served as OME-Zarr', () => {
  let started: TestHost;
  let admin: Client;
  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
  });
  afterAll(() => started?.close());

  it.each(fewKnownFiles)('are those of $name', async (file) => {
    const { item, known } = await uploadKnown(admin, await newFolder(admin, file.name), file);
    await expectServed(admin, item, known);
  });
});
