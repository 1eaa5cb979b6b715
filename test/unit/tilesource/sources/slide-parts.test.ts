import { describe, expect, it } from 'vitest';
import { MissingPartsError, TileSourceError } from '../../../../src/errors.js';
import { mayHoldPart, findSlideParts } from '../../../../src/tilesource/sources/openslide/slide-parts.js';
import { memoryFolder } from '../../../support/images/folder-input.js';

const vms =
  '[Virtual Microscope Specimen]\r\nNoLayers=1\r\nImageFile=a.jpg\r\nImageFile(1,0)=b.jpg\r\nMapFile=map.jpg\r\nOptimisationFile=a.opt\r\n';
const slidedat =
  '[HIERARCHICAL]\nINDEXFILE = Index.dat\n[DATAFILE]\nFILE_COUNT = 2\nFILE_0 = Data0000.dat\nFILE_1 = Data0001.dat\n';

async function partsOf(name: string, files: Record<string, string>): Promise<string[]> {
  const bytes = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
  const parts = await findSlideParts(memoryFolder(bytes).input(name), name);
  return parts.map((part) => part.name).toSorted();
}

async function refusal(name: string, files: Record<string, string>): Promise<Error> {
  return partsOf(name, files).then(
    (names) => new Error(`found ${names.join()}`),
    (error: unknown) => error as Error,
  );
}

describe('files that belong to a slide', () => {
  it('are those that it names, next to it or in its folder, and optional ones', async () => {
    expect(await partsOf('s.vms', { 's.vms': vms, 'a.jpg': '', 'b.jpg': '', 'map.jpg': '', 'other.jpg': '' })).toEqual([
      'a.jpg',
      'b.jpg',
      'map.jpg',
    ]);
    const mirax = { 'm.mrxs': '', 'm/Slidedat.ini': slidedat, 'm/Index.dat': '', 'm/Data0000.dat': '', 'm/Data0001.dat': '' };
    expect(await partsOf('m.mrxs', mirax)).toEqual(['Data0000.dat', 'Data0001.dat', 'Index.dat', 'Slidedat.ini']);
    expect(await partsOf('one.ndpi', { 'one.ndpi': '', 'a.jpg': '' })).toEqual([]);
  });

  it.each([
    ['s.vms', { 's.vms': vms, 'b.jpg': '' }, ['a.jpg', 'map.jpg']],
    ['m.mrxs', { 'm.mrxs': '' }, ['m/Slidedat.ini']],
    ['m.mrxs', { 'm.mrxs': '', 'm/Slidedat.ini': slidedat, 'm/Data0000.dat': '' }, ['m/Index.dat', 'm/Data0001.dat']],
    // Only the last part of a path counts: it names a file in the folder.
    ['s.vms', { 's.vms': 'ImageFile=/etc/passwd\nMapFile=..\\..\\map.jpg' }, ['passwd', 'map.jpg']],
  ])('are named when they are missing: %s', async (name, files, missing) => {
    const error = (await refusal(name, files as Record<string, string>)) as MissingPartsError;
    expect(error).toBeInstanceOf(MissingPartsError);
    expect(error.missing).toEqual(missing);
    expect(error.message).toContain(missing.join(', '));
  });

  it.each([
    ['a folder above', { 's.vms': 'ImageFile=..' }, 'invalid file name: ".."'],
    [
      'too many files',
      { 's.vms': Array.from({ length: 5001 }, (_, i) => `ImageFile(${i})=${i}.jpg`).join('\n') },
      'more than 5000',
    ],
    ['a text that is too long', { 's.vms': 'x'.repeat(2 ** 20 + 1) }, 'at most 1048576'],
  ])('are refused for %s', async (_what, files, message) => {
    const error = await refusal('s.vms', files as Record<string, string>);
    expect(error).toBeInstanceOf(TileSourceError);
    expect(error.message).toContain(message);
  });

  it('change the slide when they change, and no others do', () => {
    expect(['a.jpg', 'sub/a.jpg'].map((path) => mayHoldPart('s.vms', path))).toEqual([true, false]);
    expect(['m/Index.dat', 'n/Index.dat', 'a.jpg'].map((path) => mayHoldPart('m.mrxs', path))).toEqual([true, false, false]);
    expect(mayHoldPart('one.ndpi', 'a.jpg')).toBe(false);
  });
});
