import { knownFiles } from '../zarr/known-images.js';
import type { KnownImage } from '../zarr/served-samples.js';
import { startHost, type Client, type TestHost } from '../hosts/reference-host.js';
import { newFolder, pyramid, uploadItem } from './images.js';

/** A host with an image of several planes, channels and times, whose samples are known, and an image without these axes. */
export interface StackHost {
  started: TestHost;
  admin: Client;
  item: string;
  plain: string;
  known: KnownImage;
}

/** Starts the host. Its answers are checked against their description. */
export async function startStackHost(): Promise<StackHost> {
  const started = await startHost({ checksAnswers: true });
  const admin = await started.register('admin');
  const folder = await newFolder(admin, 'Stacks');
  const { bytes, known } = await knownFiles.find(({ file }) => file === 'image.ome.tif')!.make();
  const item = await uploadItem(admin, folder, 'stack.ome.tif', bytes);
  const plain = await uploadItem(admin, folder, 'plain.tif', await pyramid());
  return { started, admin, item, plain, known };
}
