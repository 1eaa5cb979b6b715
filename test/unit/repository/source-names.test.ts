import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ownSources } from '../../../src/tilesource/registry/own-sources.js';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.startsWith('tilesource/sources/') && !file.startsWith('viewer/'),
);
const textOf = (file: string) => readFileSync(join(src, file), 'utf8');

/** Files that may use the files of a tile source. */
const mayImport = [
  // The lists of the sources, and of their code that runs in threads.
  'tilesource/registry/',
  // Conversions read files with libvips and write TIFF.
  'tilesource/convert/',
  // Recognizes the formats of libvips by their first bytes.
  'tilesource/mime-type.ts',
  // Writes DICOM with the library that the source of DICOM loads.
  'features/dicomweb/format/dataset.ts',
  // The route of the generated image.
  'features/pictures/test-image.routes.ts',
];

it('no file outside the folder of a tile source asks for it by name', () => {
  const names = ownSources.map(({ name }) => name).join('|');
  const question = new RegExp(`(?:[sS]ourceName|registry|source\\.name|definition\\.name)\\b[^;\\n]*'(?:${names})'`, 'g');
  const questions = files.flatMap((file) => (textOf(file).match(question) ?? []).map((words) => `${file}: ${words}`));
  // The suite for hosts writes its own records.
  expect(questions.filter((line) => !line.startsWith('testing/'))).toEqual([]);
  expect("if (item.largeImage?.sourceName !== 'dicom') return;").toMatch(question);
});

it('files outside the folders of tile sources do not use their files', () => {
  const importers = files.filter((file) =>
    / from '[^']*tilesource\/sources\/| from '\.{1,2}\/(?:\.\.\/)*sources\//.test(textOf(file)),
  );
  expect(importers.filter((file) => !mayImport.some((place) => file.startsWith(place)))).toEqual([]);
});
