import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { pattern } from '../../support/images/pattern.js';
import { writeDicom } from '../../support/writers/dicom-writer.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

type Row = Record<string, { vr: string; Value?: unknown[] }>;

const [study, series] = ['1.2.826.0.1.1', '1.2.826.0.1.2'];

describe('files served through DICOMweb', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Slides');
  });
  afterAll(() => started?.close());

  const get = (path: string, accept: string, headers: Record<string, string> = {}) =>
    admin.send('GET', `/dicomweb${path}`, { headers: { Accept: accept, ...headers } });

  it('keep the identifiers, bytes and frames of DICOM files', async () => {
    const tile = (shade: number) =>
      sharp(
        pattern(64, 64, 3).map((value) => (value + shade) & 255),
        { raw: { width: 64, height: 64, channels: 3 } },
      )
        .jpeg({ quality: 90 })
        .toBuffer();
    const frames = await Promise.all([0, 40, 80, 120].map(tile));
    const common = { rows: 64, columns: 64, samples: 3, bits: 8, studyUid: study, seriesUid: series } as const;
    const encoded = { transferSyntax: '1.2.840.10008.1.2.4.50', photometric: 'YBR_FULL_422' };
    const native = { transferSyntax: '1.2.840.10008.1.2.1', photometric: 'RGB' };
    const half = Buffer.from(pattern(64, 50, 3));
    const files = [
      writeDicom({ ...common, ...encoded, frames, matrix: { columns: 128, rows: 100 }, instanceUid: `${series}.1` }).file,
      writeDicom({
        ...common,
        ...native,
        rows: 50,
        frames: [half],
        matrix: { columns: 64, rows: 50 },
        instanceUid: `${series}.2`,
      }).file,
    ];
    const item = await uploadItem(admin, folder, 'one.dcm', files[0]!);
    const query = { parentType: 'item', parentId: item, name: 'two.dcm', size: files[1]!.length };
    await admin.ok('POST', '/file', { query, body: files[1]! });
    expect(await admin.ok('GET', `/item/${item}/dicomweb`)).toMatchObject({
      studyInstanceUID: study,
      seriesInstanceUIDs: [series],
    });

    const of = (number: number) => `/studies/${study}/series/${series}/instances/${series}.${number}`;
    for (const [index, file] of files.entries()) {
      const instance = await get(of(index + 1), 'application/dicom');
      expect([instance.status, Number(instance.headers.get('content-length'))]).toEqual([200, file.length]);
      expect(instance.bytes.equals(file)).toBe(true);
      const part = await get(of(index + 1), 'application/dicom', { Range: 'bytes=200-1200' });
      expect(part.bytes.equals(file.subarray(200, 1201))).toBe(true);
    }
    for (const [index, frame] of frames.entries()) {
      const padded = Buffer.concat([frame, Buffer.alloc(frame.length % 2)]);
      const picture = await get(`${of(1)}/frames/${index + 1}`, 'image/jpeg');
      expect(picture.headers.get('content-type')).toBe('image/jpeg; transfer-syntax=1.2.840.10008.1.2.4.50');
      expect(picture.bytes.equals(padded)).toBe(true);
      const decoded = await get(`${of(1)}/frames/${index + 1}`, 'application/octet-stream');
      expect(decoded.bytes.equals(await sharp(frame).raw().toBuffer())).toBe(true);
    }
    expect((await get(`${of(2)}/frames/1`, 'application/octet-stream')).bytes.equals(half)).toBe(true);
    expect((await get(`${of(2)}/frames/1`, 'image/jpeg')).status).toBe(406);
    expect((await get(of(1), 'application/dicom; transfer-syntax=1.2.840.10008.1.2.1')).status).toBe(406);
    expect((await get(`${of(1)}/rendered`, 'image/png')).status).toBe(200);
    const [metadata] = (await get(`${of(1)}/metadata`, 'application/dicom+json')).body as unknown as Row[];
    expect([metadata!['00280004']?.Value, metadata!['00480007']?.Value, metadata!['7FE00010']]).toEqual([
      ['YBR_FULL_422'],
      [100],
      undefined,
    ]);
  });

  it('are served except for a frame whose stored bytes are corrupt, which gets 422 both as stored and decoded', async () => {
    const image = sharp(pattern(700, 500, 3), { raw: { width: 700, height: 500, channels: 3 } });
    const tiff = await image
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression: 'jpeg', xres: 2000, yres: 2000, resolutionUnit: 'cm' })
      .toBuffer();
    // The beginning of the fourth of six tiles is overwritten.
    let start = -1;
    for (let count = 0; count < 5; count++) start = tiff.indexOf(Buffer.of(0xff, 0xd8, 0xff), start + 1);
    tiff.fill(0, start, start + 40);
    const item = await uploadItem(admin, folder, 'corrupt.tif', tiff);
    const { studyInstanceUID } = await admin.ok('GET', `/item/${item}/dicomweb`);
    const [instance] = (await get(`/studies/${String(studyInstanceUID)}/instances`, 'application/dicom+json'))
      .body as unknown as Row[];
    const address = new URL(String(instance!['00081190']!.Value![0])).pathname.replace('/api/v1/dicomweb', '');
    const statuses: Record<string, number[]> = {};
    for (const accept of ['image/jpeg', 'application/octet-stream']) {
      statuses[accept] = [];
      for (let frame = 1; frame <= 6; frame++) statuses[accept].push((await get(`${address}/frames/${frame}`, accept)).status);
    }
    const expected = [200, 200, 200, 200, 200, 200];
    expected[statuses['image/jpeg']!.indexOf(422)] = 422;
    expect(statuses).toEqual({ 'image/jpeg': expected, 'application/octet-stream': expected });
    expect(expected).toContain(422);
  });
});
