import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Schema } from '../../../src/larger-host.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

/** Values that can be sent, with the stored ones. `null` cannot be distinguished from the default. */
type Accepted = [sent: string, stored: unknown][];
type Refused = [sent: string, message: string, field?: string][];

interface Row {
  byDefault: unknown;
  accepted: Accepted;
  refused: Refused;
}

const booleans: Accepted = [
  ['true', true],
  ['false', false],
  ['"TRUE"', true],
  ['"False"', false],
  ['', true],
];
const noBooleans = (key: string): Refused =>
  ['maybe', '1', '0', '[]', '{}', '"0"'].map((sent) => [sent, `large_image.${key} must be a boolean.`]);
const boolean = (key: string, byDefault: boolean): Row => ({ byDefault, accepted: booleans, refused: noBooleans(key) });

const count = (key: string, byDefault: number): Row => ({
  byDefault,
  accepted: [
    ['0', 0],
    ['25', 25],
    ['"25"', 25],
    ['4.7', 4],
    ['9007199254740991', 9007199254740991],
  ],
  refused: ['-1', 'many', '', '0x10', '"0b1"', '[]', '{"a": 1}', '1e400', 'NaN'].map((sent) => [
    sent,
    `large_image.${key} must be a non-negative integer.`,
  ]),
});

const objectText = (key: string): Row => ({
  byDefault: null,
  accepted: [
    ['{"images": ["label", "macro"]}', '{"images": ["label", "macro"]}'],
    ['{"images":["*"],"n":{"a":1}}', '{"images": ["*"], "n": {"a": 1}}'],
    ['"  {\\"a\\":1} "', '{"a":1}'],
    ['{}', '{}'],
    ['', ''],
    ['"  "', ''],
  ],
  refused: ['[1]', '5', 'true', '{"a"', '"[1]"', 'words'].map((sent) => [sent, `large_image.${key} must be a JSON object.`]),
});

/** The settings of the plugin, with values that they accept and refuse. */
const table: Record<string, Row> = {
  show_thumbnails: boolean('show_thumbnails', true),
  show_viewer: boolean('show_viewer', true),
  merge_dicom: boolean('merge_dicom', false),
  notification_stream_fallback: boolean('notification_stream_fallback', true),
  auto_set: {
    byDefault: true,
    accepted: [...booleans, ['all', 'all'], ['"all"', 'all'], ['ALL', true]],
    refused: ['some', '2', '[]'].map((sent) => [sent, 'large_image.auto_set must be a boolean or "all".']),
  },
  icc_correction: {
    byDefault: true,
    accepted: [
      ...booleans,
      ['PERCEPTUAL', 'PERCEPTUAL'],
      ['relative_colorimetric', 'RELATIVE_COLORIMETRIC'],
      ['Saturation', 'SATURATION'],
      ['"absolute_colorimetric"', 'ABSOLUTE_COLORIMETRIC'],
    ],
    refused: ['VIVID', '3', '{}'].map((sent) => [sent, 'large_image.icc_correction must be a boolean or a named intent.']),
  },
  default_viewer: {
    byDefault: null,
    accepted: [
      ['geojs', 'geojs'],
      ['"  openseadragon "', 'openseadragon'],
      ['5', '5'],
      ['', ''],
    ],
    refused: [],
  },
  max_thumbnail_files: count('max_thumbnail_files', 10),
  max_small_image_size: count('max_small_image_size', 4096),
  config_folder: {
    byDefault: null,
    accepted: [
      ['', null],
      ['false', null],
      ['0', null],
    ],
    refused: [
      ['nonsense', 'Invalid ObjectId: nonsense', 'id'],
      ['5', 'Invalid ObjectId: 5', 'id'],
      ['0123456789abcdef01234567', 'No such folder: 0123456789abcdef01234567', 'id'],
    ],
  },
  show_extra_public: objectText('show_extra_public'),
  show_extra: objectText('show_extra'),
  show_extra_admin: objectText('show_extra_admin'),
  show_item_extra_public: objectText('show_item_extra_public'),
  show_item_extra: objectText('show_item_extra'),
  show_item_extra_admin: objectText('show_item_extra_admin'),
};

const constantName = (name: string) => `LARGE_IMAGE_${name.toUpperCase()}`;

describe('settings of the plugin', () => {
  let started: TestHost;
  let admin: Client;

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
  });
  afterAll(() => started?.close());

  const stored = (key: string) => admin.ok('GET', '/system/setting', { query: { key } });
  const shown = () => started.anonymous.ok('GET', '/large_image/settings');

  it('refuse attributes of DICOM that cannot be mapped, and keys that are not text', async () => {
    const settingWith = (value: string) => ({ query: { key: 'large_image.dicomweb_metadata', value } });
    const good = '{"PatientID": "case.patient"}';
    await admin.ok('PUT', '/system/setting', settingWith(good));
    for (const [value, message] of [
      ['{"PatientAge": "age"}', '"PatientAge" cannot be mapped. Allowed attributes: PatientName, '],
      ['{"PatientID": 5}', '"PatientID" needs the name of a metadata key'],
      ['{"PatientID": ""}', '"PatientID" needs the name of a metadata key'],
      ['[]', 'must be a JSON object'],
    ] as const) {
      const refused = await admin.fails('PUT', '/system/setting', settingWith(value));
      expect([refused.status, refused.message]).toEqual([400, expect.stringContaining(message)]);
    }
    expect(await stored('large_image.dicomweb_metadata')).toBe(good);
    await admin.ok('PUT', '/system/setting', settingWith(''));
  });

  it('are all listed, if public, under both names and with their defaults', async () => {
    const expected = {
      ...Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row.byDefault])),
      annotation_history: true,
      associated_images: 'READ',
      links: 'READ',
      links_without_end: false,
    };
    expect(Object.keys(table)).toHaveLength(16);
    const rows = Object.entries(expected).flatMap(([name, value]) => [
      [`large_image.${name}`, value],
      [constantName(name), value],
    ]);
    expect(await shown()).toEqual(Object.fromEntries(rows));
    const keys = Object.keys(expected).map((name) => `large_image.${name}`);
    expect(await admin.ok('GET', '/system/setting', { query: { list: JSON.stringify(keys) } })).toEqual(
      Object.fromEntries(Object.entries(expected).map(([name, value]) => [`large_image.${name}`, value])),
    );
  });

  it('are described for administrators, with their allowed values', async () => {
    const described = (await admin.ok('GET', '/system/setting/definitions')) as Record<string, unknown>[];
    for (const [name, { byDefault }] of Object.entries(table)) {
      const description = described.find(({ key }) => key === `large_image.${name}`);
      expect(description).toMatchObject({ default: byDefault, value: byDefault, allowed: expect.any(String) });
    }
    expect(described.map(({ key }) => key)).toContain('core.registration_policy');
  });

  it('have schemas that allow the defaults, from which pages make their inputs', async () => {
    const described = (await admin.ok('GET', '/system/setting/definitions')) as unknown as {
      key: string;
      schema: Schema;
      default: unknown;
    }[];
    const schemas = Object.fromEntries(described.map(({ key, schema }) => [key, schema]));
    expect(schemas).toMatchObject({
      'large_image.show_viewer': { type: 'boolean' },
      'large_image.max_thumbnail_files': { type: 'integer', minimum: 0 },
      'large_image.auto_set': { enum: [true, false, 'all'] },
      'large_image.show_extra': { type: 'string', format: 'json' },
      'core.sign_in_window': { type: 'integer', minimum: 1, maximum: 86_400, 'x-unit': 'seconds' },
      'core.registration_policy': { enum: ['open', 'closed', 'approve'] },
      'core.collection_create_policy': { type: 'object' },
    });
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const withDefaults = described.filter(({ default: byDefault }) => byDefault !== null);
    expect(
      withDefaults.filter(({ schema, default: byDefault }) => !ajv.validate(schema, byDefault)).map(({ key }) => key),
    ).toEqual([]);
  });

  it.each(Object.entries(table))('%s accepts allowed values, and names them when it refuses one', async (name, row) => {
    const key = `large_image.${name}`;
    for (const [value, expected] of row.accepted) {
      expect(await admin.ok('PUT', '/system/setting', { query: { key, value } }), value).toBe(true);
      expect(await stored(key), value).toEqual(expected);
      expect(await shown(), value).toMatchObject({ [key]: expected, [constantName(name)]: expected });
    }
    const former = await stored(key);
    for (const [value, message, field = 'value'] of row.refused) {
      expect(await admin.fails('PUT', '/system/setting', { query: { key, value } }), value).toMatchObject({
        status: 400,
        message,
        type: 'validation',
        field,
      });
      expect(await stored(key), value).toEqual(former);
    }
    await admin.ok('PUT', '/system/setting', { query: { key, value: 'null' } });
    expect(await stored(key)).toEqual(row.byDefault);
    await admin.ok('PUT', '/system/setting', { query: { key, value: row.accepted[0]![0] } });
    await admin.ok('DELETE', '/system/setting', { query: { key } });
    expect(await stored(key)).toEqual(row.byDefault);
  });

  it('config_folder accepts the id of a folder', async () => {
    const collection = await admin.create('/collection', { name: 'c' });
    const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'f' });
    const key = 'large_image.config_folder';
    await admin.ok('PUT', '/system/setting', { query: { key, value: folder.toUpperCase() } });
    expect(await stored(key)).toBe(folder);
  });

  it('can also be read and written by their upper-case names', async () => {
    const key = 'LARGE_IMAGE_MAX_THUMBNAIL_FILES';
    expect(await stored(key)).toBe(10);
    await admin.ok('PUT', '/system/setting', { query: { key, value: '3' } });
    expect([await stored(key), await stored('large_image.max_thumbnail_files')]).toEqual([3, 3]);
    expect(await admin.fails('PUT', '/system/setting', { query: { key, value: '-3' } })).toMatchObject({
      status: 400,
      message: 'large_image.max_thumbnail_files must be a non-negative integer.',
    });
    await admin.ok('DELETE', '/system/setting', { query: { key } });
    expect(await stored(key)).toBe(10);
    const list = JSON.stringify([key]);
    expect(await admin.ok('GET', '/system/setting', { query: { list } })).toEqual({ [key]: 10 });
  });

  it('include no others', async () => {
    for (const key of ['large_image.nonsense', 'LARGE_IMAGE_NONSENSE', 'large_image.constructor', '']) {
      expect((await admin.fails('PUT', '/system/setting', { query: { key, value: '1' } })).status).toBe(400);
    }
  });
});
