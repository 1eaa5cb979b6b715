import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

type Row = Record<string, { vr: string; Value?: unknown[]; BulkDataURI?: string }>;

/** A picture of 700 by 500 pixels in JPEG tiles of 256, by default with a pixel size. */
async function slide({ seed = 1, sized = true, bits = 8 } = {}): Promise<Buffer> {
  const bands = bits === 8 ? 3 : 1;
  const data = new (bits === 8 ? Uint8Array : Uint16Array)(700 * 500 * bands).map(
    (_, i) => (i * 7 + (i >> 9) * seed) % 2 ** bits,
  );
  const image = sharp(data, { raw: { width: 700, height: 500, channels: bands } });
  const resolution = sized ? { xres: 2000, yres: 2000, resolutionUnit: 'cm' as const } : {};
  const compression = bits === 8 ? ('jpeg' as const) : ('deflate' as const);
  return (bits === 8 ? image : image.toColourspace('grey16'))
    .tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression, quality: 90, ...resolution })
    .toBuffer();
}

const firstValue = (row: Row | undefined, tag: string) => row?.[tag]?.Value?.[0];

/** The parts of a multipart response. */
function partsOf(bytes: Buffer, type: string): { headers: string; body: Buffer }[] {
  const boundary = `--${/boundary=(\S+)/.exec(type)![1]}`;
  const parts: { headers: string; body: Buffer }[] = [];
  for (let at = bytes.indexOf(boundary); ;) {
    const start = at + boundary.length + 2;
    const next = bytes.indexOf(boundary, start);
    if (next < 0) return parts;
    const head = bytes.indexOf('\r\n\r\n', start);
    parts.push({ headers: bytes.toString('latin1', start, head), body: bytes.subarray(head + 4, next - 2) });
    at = next;
  }
}

describe('DICOMweb', () => {
  let started: TestHost;
  let admin: Client;
  let stranger: Client;
  let item: string;
  let study: string;
  let series: string;
  let instances: Row[];
  let folder: string;

  const get = (path: string, client: Client = admin, accept = '*/*') =>
    client.send('GET', `/dicomweb${path}`, { headers: { Accept: accept } });
  const rows = async (path: string, client: Client = admin) => {
    const answer = await get(path, client, 'application/dicom+json');
    expect(answer.status).toBe(200);
    return answer.body as unknown as Row[];
  };
  const instance = (number: number) =>
    `/studies/${study}/series/${series}/instances/${String(firstValue(instances[number], '00080018'))}`;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    stranger = await started.register('stranger');
    folder = await newFolder(admin, 'Slides');
    item = await uploadItem(admin, folder, 'one.tif', await slide());
    await admin.ok('PUT', `/item/${item}/metadata`, {
      json: { PatientID: 'P-17', PatientName: 'Müller^Ada', StudyDate: '2024-03-09' },
    });
    [study, series] = [
      String(firstValue((await rows('/studies'))[0], '0020000D')),
      String(firstValue((await rows('/series'))[0], '0020000E')),
    ];
    instances = await rows(`/studies/${study}/series/${series}/instances`);
  });
  afterAll(() => started?.close());

  it('finds a study by every kind of condition, but only when all of them hold', async () => {
    for (const query of [
      'PatientID=P-17',
      '00100020=P-*',
      'PatientID=*17*',
      'PatientName=m%C3%BCller*',
      'PatientName=ada&fuzzymatching=true',
      'StudyDate=20240101-20241231',
      'StudyDate=-20240309',
      'ModalitiesInStudy=SM',
      `StudyInstanceUID=1.2.3&StudyInstanceUID=${study}`,
      `StudyInstanceUID=1.2.3,${study}`,
      'PatientID=',
    ]) {
      expect([query, (await rows(`/studies?${query}`)).length]).toEqual([query, 1]);
    }
    for (const query of [
      'PatientID=P',
      'StudyDate=20250101-',
      'ModalitiesInStudy=CT',
      'StudyInstanceUID=1.2.3',
      'limit=0',
      'offset=1',
      'Rows=7',
    ]) {
      expect([query, (await rows(`/studies?${query}`)).length]).toEqual([query, 0]);
    }
  });

  it('returns every result once on pages of any size, and says whether there are more', async () => {
    const others = [];
    for (const seed of [11, 12, 13]) others.push(await uploadItem(admin, folder, `page ${seed}.tif`, await slide({ seed })));
    const tags = { studies: '0020000D', series: '0020000E', instances: '00080018' };
    for (const [level, tag] of Object.entries(tags)) {
      const values = (await rows(`/${level}`)).map((row) => firstValue(row, tag));
      expect(values).toHaveLength(level === 'instances' ? 12 : 4);
      for (const limit of [1, 2, 3]) {
        const paged: unknown[] = [];
        for (let offset = 0; offset < values.length; offset += limit) {
          const page = await get(`/${level}?limit=${limit}&offset=${offset}`, admin, 'application/dicom+json');
          paged.push(...(page.body as unknown as Row[]).map((row) => firstValue(row, tag)));
          expect([level, limit, offset, page.headers.has('warning')]).toEqual([
            level,
            limit,
            offset,
            offset + limit < values.length,
          ]);
        }
        expect(paged).toEqual(values);
      }
      expect(await rows(`/${level}?offset=1000000`)).toEqual([]);
    }
    expect(await rows('/studies?PatientID=P-17&offset=1')).toEqual([]);
    for (const id of others) await admin.ok('DELETE', `/item/${id}`);
  });

  it('lists the instances from the finest level to the thumbnail, with what clients need to choose', async () => {
    const shown = instances.map((row) => [
      row['00080008']?.Value?.[2],
      firstValue(row, '00480006'),
      firstValue(row, '00480007'),
      firstValue(row, '00280008'),
    ]);
    expect(shown).toEqual([
      ['VOLUME', 700, 500, 6],
      ['VOLUME', 350, 250, 2],
      ['THUMBNAIL', 175, 125, 1],
    ]);
    const filtered = await rows(
      `/studies/${study}/instances?00080016=1.2.840.10008.5.1.4.1.1.77.1.6&00080060=SM&0020000E=1.2&0020000E=${series}&includefield=AvailableTransferSyntaxUID`,
    );
    expect(filtered[0]!['00083002']!.Value).toEqual(['1.2.840.10008.1.2.4.50', '1.2.840.10008.1.2.1']);
    expect(filtered).toHaveLength(3);
  });

  it('serves stored tiles unchanged, alone and several at once, and refuses what it cannot provide', async () => {
    const stored = await admin.send('GET', `/item/${item}/tiles/zxy/2/1/0`);
    const alone = await get(`${instance(0)}/frames/2`, admin, 'image/jpeg');
    expect(alone.headers.get('content-type')).toBe('image/jpeg; transfer-syntax=1.2.840.10008.1.2.4.50');
    const raw = (bytes: Uint8Array) => sharp(bytes).raw().toBuffer();
    expect(await raw(alone.bytes)).toEqual(await raw(stored.bytes));
    const twoFrames = await get(
      `${instance(0)}/frames/2,1`,
      admin,
      'multipart/related; type="application/octet-stream"; transfer-syntax=*',
    );
    const parts = partsOf(twoFrames.bytes, twoFrames.headers.get('content-type')!);
    expect(parts.map(({ body }) => body.length > 0)).toEqual([true, true]);
    expect(parts[0]!.body).toEqual(alone.bytes);
    const native = await get(`${instance(0)}/frames/2`, admin, 'application/octet-stream');
    expect(native.bytes).toEqual(await raw(alone.bytes));
    for (const [accept, frame, status] of [
      ['image/jls', '1', 406],
      ['multipart/related; type="image/jp2"; transfer-syntax=1.2.840.10008.1.2.4.90', '1', 406],
      ['image/jpeg', '1,2', 406],
      ['nonsense', '1', 406],
      [Array.from({ length: 101 }, () => 'image/jpeg').join(), '1', 400],
      ['*/*', '0', 400],
      ['*/*', '1,1', 400],
      ['*/*', 'x', 400],
      ['*/*', '7', 404],
      ['*/*', '1000000000', 404],
    ] as const) {
      expect([accept, frame, (await get(`${instance(0)}/frames/${frame}`, admin, accept)).status]).toEqual([
        accept,
        frame,
        status,
      ]);
    }
  });

  it('serves whole instances with their exact length, ranges of them, and the requested transfer syntax', async () => {
    for (const number of [0, 1, 2]) {
      const complete = await get(instance(number), admin, 'application/dicom');
      expect(complete.status).toBe(200);
      expect(Number(complete.headers.get('content-length'))).toBe(complete.bytes.length);
      expect(complete.bytes.toString('latin1', 128, 132)).toBe('DICM');
      for (const [start, end] of [
        [0, 9],
        [complete.bytes.length - 300, complete.bytes.length - 1],
        [1000, 30_000],
      ] as const) {
        const range = await admin.send('GET', `/dicomweb${instance(number)}`, {
          headers: { Accept: 'application/dicom', Range: `bytes=${start}-${end}` },
        });
        expect(range.status).toBe(206);
        expect(range.bytes).toEqual(complete.bytes.subarray(start, end + 1));
      }
      const size = complete.bytes.length;
      for (const [Range, status, contentRange] of [
        [`bytes=${size}-`, 416, `bytes */${size}`],
        ['bytes=9-1', 200, null],
      ] as const) {
        const answer = await admin.send('GET', `/dicomweb${instance(number)}`, {
          headers: { Accept: 'application/dicom', Range },
        });
        expect([answer.status, answer.headers.get('content-range')]).toEqual([status, contentRange]);
      }
    }
    const encoded = await get(
      instance(1),
      admin,
      'multipart/related; type="application/dicom"; transfer-syntax=1.2.840.10008.1.2.4.50',
    );
    expect([encoded.status, encoded.headers.get('content-length')]).toEqual([200, null]);
    // Metadata describe frames in the default transfer syntax: this level as JPEG that is made on demand.
    const [metadata] = await rows(`${instance(1)}/metadata`);
    const native = await get(instance(1), admin, 'application/dicom');
    const output = [encoded.bytes, native.bytes].map((bytes) => /YBR_FULL_422|RGB/.exec(bytes.toString('latin1', 0, 4000))?.[0]);
    expect([firstValue(metadata, '00280004'), ...output]).toEqual(['YBR_FULL_422', 'YBR_FULL_422', 'RGB']);
    expect((await get(instance(1), admin, 'application/dicom; transfer-syntax=1.2.840.10008.1.2.4.90')).status).toBe(406);
    const ofStudy = await get(`/studies/${study}`, admin, 'multipart/related; type="application/dicom"; transfer-syntax=*');
    expect(partsOf(ofStudy.bytes, ofStudy.headers.get('content-type')!)).toHaveLength(3);
  });

  it('shows pictures, and profiles by the address in the metadata', async () => {
    const [metadata] = await rows(`${instance(0)}/metadata`);
    const path = metadata!['00480105']!.Value![0] as Row;
    const address = new URL(path['00282000']!.BulkDataURI!).pathname.replace('/api/v1', '');
    expect((await admin.send('GET', address)).bytes.toString('latin1', 36, 40)).toBe('acsp');
    const rendered = await get(`${instance(1)}/rendered?viewport=100,100`, admin, 'image/png');
    expect(await sharp(rendered.bytes).metadata()).toMatchObject({ format: 'png', width: 100, height: 71 });
    expect((await get(`/studies/${study}/thumbnail`, admin, 'image/jpeg')).status).toBe(200);
    for (const viewport of ['0,0', '1,2,3', '9999,1', '10,10,0,0,9999,9', 'a,b']) {
      expect([viewport, (await get(`${instance(1)}/rendered?viewport=${viewport}`)).status]).toEqual([viewport, 400]);
    }
  });

  it('leaves unsigned samples of 16 bits as they are', async () => {
    const gray = await uploadItem(admin, folder, 'gray.tif', await slide({ bits: 16 }));
    const { studyInstanceUID } = await admin.ok('GET', `/item/${gray}/dicomweb`);
    const [metadata] = await rows(`/studies/${String(studyInstanceUID)}/metadata`);
    expect([firstValue(metadata, '00280100'), firstValue(metadata, '00280004')]).toEqual([16, 'MONOCHROME2']);
    expect((metadata!['52009229']!.Value![0] as Row)['00409096']).toBeUndefined();
    await admin.ok('DELETE', `/item/${gray}`);
  });

  it('refuses invalid searches and addresses with a sentence', async () => {
    for (const [path, status] of [
      ['/studies?Nonsense=1', 400],
      ['/studies?limit=-1', 400],
      ['/studies?limit=1&limit=2', 400],
      ['/studies?StudyInstanceUID=abc', 400],
      [`/studies?StudyInstanceUID=${'1'.repeat(65)}`, 400],
      ['/studies?StudyDate=yesterday', 400],
      [`/studies?${Array.from({ length: 1200 }, () => 'a=1').join('&')}`, 400],
      [`/studies/${'1.'.repeat(40)}/metadata`, 400],
      ['/studies/1.2.x/metadata', 400],
      ['/studies/1.2.3/metadata', 404],
    ] as const) {
      const answer = await get(path, admin, 'application/dicom+json');
      expect([path.slice(0, 60), answer.status]).toEqual([path.slice(0, 60), status]);
      expect(answer.body.message).toMatch(/\w/);
    }
    const manyFields = await get(`/studies?includefield=${'1,'.repeat(1000)}1`, admin, 'application/dicom+json');
    expect(manyFields.body.message).toContain('includefield can name at most 1000 attributes');
    expect(await admin.fails('POST', '/dicomweb/studies')).toMatchObject({ status: 501 });
  });

  it('shows nothing of an image to those who may not read it', async () => {
    for (const client of [stranger, started.anonymous]) {
      expect(await rows('/studies', client)).toEqual([]);
      for (const path of [`/studies/${study}/metadata`, `${instance(0)}/frames/1`, instance(0), `${instance(0)}/rendered`]) {
        expect((await get(path, client)).status).toBe(client === stranger ? 403 : 401);
      }
    }
  });

  it('opens one item by a link, until it is revoked', async () => {
    const other = await uploadItem(admin, folder, 'other.tif', await slide({ seed: 5 }));
    const { token, _id } = await admin.ok('POST', `/item/${item}/link`, { json: { opens: ['dicomweb'] } });
    const linked = `/t/${String(token)}`;
    const studies = await rows(`${linked}/studies`, started.anonymous);
    expect(studies.map((row) => firstValue(row, '0020000D'))).toEqual([study]);
    expect(String(firstValue(studies[0], '00081190'))).toContain(`/dicomweb${linked}/studies/${study}`);
    expect((await get(`${linked}${instance(0)}/frames/1`, started.anonymous)).status).toBe(200);
    for (const path of [`/dicomweb${linked}/studies`, `/dicomweb${linked}/studies/${study}`]) {
      expect(await started.anonymous.fails('POST', path)).toMatchObject({ status: 501 });
    }
    expect(await started.anonymous.fails('POST', `/dicomweb${linked}/series`)).toMatchObject({
      message: 'No matching route for "POST t/***/series"',
    });
    expect(await (await fetch(`${started.url}/dicomweb${linked}/studies`)).text()).not.toContain(token);
    const { studyInstanceUID } = await admin.ok('GET', `/item/${other}/dicomweb`);
    expect((await get(`${linked}/studies/${String(studyInstanceUID)}/metadata`, started.anonymous)).status).toBe(404);
    await admin.ok('DELETE', `/link/${String(_id)}`);
    expect((await get(`${linked}/studies`, started.anonymous)).status).toBe(401);
    await admin.ok('DELETE', `/item/${other}`);
  });

  it('combines images of one case into one study, and offers an image without a pixel size only when its metadata give one', async () => {
    const unsized = await uploadItem(admin, folder, 'unsized.tif', await slide({ seed: 3, sized: false }));
    expect(await admin.fails('GET', `/item/${unsized}/dicomweb`)).toMatchObject({ status: 409 });
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.dicomweb_study_key', value: 'case' } });
    for (const id of [item, unsized])
      await admin.ok('PUT', `/item/${id}/metadata`, { json: { case: 'C1', PixelSpacing: 0.0005 } });
    const [ofSized, ofUnsized] = [
      await admin.ok('GET', `/item/${item}/dicomweb`),
      await admin.ok('GET', `/item/${unsized}/dicomweb`),
    ];
    expect(ofSized.studyInstanceUID).toBe(ofUnsized.studyInstanceUID);
    const studies = await rows('/studies?PatientID=P-17');
    expect([studies.length, firstValue(studies[0], '00201206')]).toEqual([1, 2]);
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.dicomweb_study_key', value: '' } });
    await admin.ok('DELETE', `/item/${unsized}`);
  });

  it('serves annotations as groups of shapes, with their coordinates as bulk data and in the file', async () => {
    const elements = [
      {
        type: 'polyline',
        closed: true,
        group: 'cell',
        points: [
          [1, 2, 0],
          [3, 4, 0],
          [5, 6, 0],
        ],
        user: { area: 2.5 },
      },
      {
        type: 'polyline',
        closed: true,
        group: 'cell',
        points: [
          [7, 8, 0],
          [9, 10, 0],
          [11, 12, 0],
          [13, 14, 0],
        ],
      },
      { type: 'point', center: [20, 30, 0] },
      { type: 'circle', center: [50, 60, 0], radius: 10 },
      { type: 'heatmap', points: [[1, 1, 0, 1]] },
    ];
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Cells', elements } });
    const ownStudy = String((await admin.ok('GET', `/item/${item}/dicomweb`)).studyInstanceUID);
    const [series] = await rows(`/studies/${ownStudy}/series?Modality=ANN`);
    const path = `/studies/${ownStudy}/series/${String(firstValue(series, '0020000E'))}`;
    const [metadata] = await rows(`${path}/metadata`);
    expect(firstValue(metadata, '00700081')).toBe('Left out: 1 heatmap');
    const groups = metadata!['006A0002']!.Value as Row[];
    expect(groups.map((group) => [firstValue(group, '00700023'), firstValue(group, '006A000C')])).toEqual([
      ['POLYGON', 2],
      ['POINT', 1],
      ['ELLIPSE', 1],
    ]);
    const bulk = async (address: string) => (await admin.send('GET', new URL(address).pathname.replace('/api/v1', ''))).bytes;
    const points = await bulk(groups[0]!['00660016']!.BulkDataURI!);
    expect([...new Float32Array(points.buffer.slice(points.byteOffset, points.byteOffset + points.length))]).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    ]);
    const starts = await bulk(groups[0]!['00660040']!.BulkDataURI!);
    expect([starts.readUInt32LE(0), starts.readUInt32LE(4)]).toEqual([1, 7]);
    const uid = String(firstValue(metadata, '00080018'));
    const complete = await get(`${path}/instances/${uid}`, admin, 'application/dicom');
    expect(complete.bytes.includes(points)).toBe(true);
    expect(Number(complete.headers.get('content-length'))).toBe(complete.bytes.length);
  });

  it('answers 404 with a sentence for UIDs of an image that was replaced', async () => {
    const files = (await admin.ok('GET', `/item/${item}/files`)) as unknown as { _id: string }[];
    const frame = `${instance(0)}/frames/1`;
    expect((await get(frame)).status).toBe(200);
    const bytes = await slide({ seed: 9 });
    const upload = await admin.ok('PUT', `/file/${files[0]!._id}/contents`, { query: { size: bytes.length } });
    await admin.ok('POST', '/file/chunk', { query: { uploadId: String(upload._id), offset: 0 }, body: bytes });
    const answer = await get(frame);
    expect([answer.status, answer.body.message]).toEqual([404, expect.stringContaining('replaced')]);
  });
});
