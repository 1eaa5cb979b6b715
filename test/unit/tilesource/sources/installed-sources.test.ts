import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { findTileSources } from '../../../../src/tilesource/registry/installed-sources.js';
import { definitionFault } from '../../../../src/tilesource/registry/definition-fault.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'installed-sources-'));
});
afterAll(() => rm(folder, { recursive: true }));

const tables = { extensions: { default: 12, xyz: 1 }, mimeTypes: { default: 12 } };
const sound = { name: 'mine', ...tables, open: () => {} };

async function install(name: string, plugin: object, code: string): Promise<void> {
  const at = join(folder, 'node_modules', name);
  await mkdir(at, { recursive: true });
  await writeFile(join(at, 'plugin.json'), JSON.stringify(plugin));
  await writeFile(join(at, 'index.mjs'), code);
}

const exporting = (name: string) =>
  `export const tileSources = [{ name: '${name}', extensions: { default: 12 }, mimeTypes: { default: 12 }, open() {} }];`;

describe('tile sources in separate packages', () => {
  it('are found by plugin.json, also in scoped packages; faulty ones are skipped and reported', async () => {
    const ours = { extends: 'express-large-image', tileSources: './index.mjs' };
    await install('good', ours, exporting('good'));
    await install('@lab/scoped', ours, exporting('scoped'));
    await install('of-others', { extends: 'something-else', tileSources: './index.mjs' }, exporting('others'));
    await install('broken', ours, 'throw new Error("no");');
    await install('empty', ours, 'export const other = 1;');
    await install('wrong', ours, 'export const tileSources = [{ name: "wrong" }];');
    const warnings: string[] = [];
    const logger = { warn: (fields: object) => void warnings.push(String((fields as { err?: unknown }).err)) };
    const below = join(folder, 'a', 'b');
    await mkdir(below, { recursive: true });
    expect((await findTileSources(below, { logger })).map(({ name }) => name)).toEqual(['scoped', 'good']);
    expect(warnings).toEqual([
      'Error: no',
      'TypeError: ./index.mjs exports no list "tileSources"',
      'TypeError: The tile source wrong has no function open(input, options).',
    ]);
  });

  it.each([
    [null, 'must be an object, not null'],
    [{ ...sound, name: '1' }, 'must be a letter'],
    [{ ...sound, open: null }, 'no function open'],
    [{ ...sound, version: 1 }, 'version must be a text'],
    [{ ...sound, extensions: undefined }, 'extensions is missing'],
    [{ ...sound, mimeTypes: {} }, 'mimeTypes lacks "default"'],
    [{ ...sound, extensions: { default: 12, '.XYZ': 1 } }, 'in lower case, without a dot'],
    [{ ...sound, extensions: { default: 99 } }, 'extensions.default is 99, which is not one of the priorities'],
    [{ ...sound, fileNames: { a: 'x' } }, 'fileNames.a is x'],
    [{ ...sound, ignoredNames: [] }, 'ignoredNames must be a regular expression'],
    [{ ...sound, readsFolder: true }, "readsFolder must be 'files' or 'images', not true"],
    [{ ...sound, mayHold: 1 }, 'mayHold must be a function'],
  ])('are reported with their faults: %j', (source, message) => {
    expect(definitionFault(source)).toContain(message);
  });

  it('have no faults when they are sound', () => expect(definitionFault(sound)).toBeNull());
});

describe('the suite for tile sources', () => {
  /** The messages of the failed tests of a source. */
  async function failures(definition: unknown): Promise<string[]> {
    const sample = join(folder, 'sample.xyz');
    await writeFile(sample, 'sample');
    const tests: (() => unknown)[] = [];
    const it_ = (_name: string, test: () => unknown) => void tests.push(test);
    // Authors who do not use types may pass any value.
    const make = () => definition as Parameters<typeof describeTileSource>[0] extends () => infer T ? T : never;
    describeTileSource(make, sample, { describe: (_name: string, body: () => void) => body(), it: it_ } as Parameters<
      typeof describeTileSource
    >[2]);
    const messages: string[] = [];
    for (const test of tests) {
      try {
        await test();
      } catch (error) {
        messages.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
      }
    }
    return messages;
  }

  const { source } = rasterSource(paint({ width: 40, height: 30, bands: 1 }, () => 7));
  it.each<[string, unknown, string]>([
    ['gives nothing', { ...sound, open: async () => undefined }, 'open must return a tile source, not undefined'],
    ['has no metadata', { ...sound, open: async () => ({}) }, 'metadata is missing'],
    [
      'has frames of a different shape',
      { ...sound, open: async () => ({ ...source, metadata: { ...source.metadata, frames: [0, 1] } }) },
      'metadata.frames must be a list of',
    ],
    [
      'has an empty list of frames',
      { ...sound, open: async () => ({ ...source, metadata: { ...source.metadata, frames: [] } }) },
      'metadata.frames must be a list of',
    ],
    ['has no levels', { ...sound, open: async () => ({ ...source, populatedLevels: undefined }) }, 'populatedLevels is missing'],
    ['reads no tiles', { ...sound, open: async () => ({ ...source, readTile: undefined }) }, 'readTile is missing'],
    ['does not close', { ...sound, open: async () => ({ ...source, close: undefined }) }, 'close is missing'],
    [
      'reads nothing',
      { ...sound, open: async () => ({ ...source, readTile: async () => undefined }) },
      'readTile must return a raster',
    ],
    [
      'has an unknown type',
      { ...sound, open: async () => ({ ...source, metadata: { ...source.metadata, dtype: 'int64' } }) },
      'dtype is int64',
    ],
    ['has no name', { ...sound, name: '' }, 'The name of a tile source'],
  ])('says what is wrong with a source that %s, and does not crash', async (_name, definition, message) => {
    const output = await failures(definition);
    expect(output.join('\n')).toContain(message);
    expect(output.filter((text) => /TypeError|ReferenceError/.test(text))).toEqual([]);
  });
});
