import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import { defineConfig } from 'tsup';
import { swaggerFiles } from './src/http/describe/swagger-files.js';

/** The page of the API. */
async function copySwaggerUi(): Promise<void> {
  await mkdir('dist/swagger-ui', { recursive: true });
  for (const name of swaggerFiles) {
    const bytes = await readFile(`node_modules/swagger-ui-dist/${name}`);
    await writeFile(`dist/swagger-ui/${name}.br`, brotliCompressSync(bytes));
  }
}

/** What the licences of packages ask for that are built in: those among devDependencies, which would make an installation larger. */
async function collectLicences(): Promise<void> {
  const names = new Set(['swagger-ui-dist']);
  for (const name of await readdir('dist')) {
    if (!name.endsWith('.js')) continue;
    // The bundler says in comments where it has code from.
    const comments = (await readFile(`dist/${name}`, 'utf8')).matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm);
    for (const [, found] of comments) names.add(found!);
  }
  const texts: string[] = [];
  for (const name of [...names].toSorted()) {
    const folder = `node_modules/${name}`;
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|swagger-ui-bundle.*licen[cs]e)/i.test(file));
    if (files.length === 0) throw new Error(`${name} is built in, and has no licence.`);
    for (const file of files) texts.push(`${name}, ${file}\n\n${(await readFile(`${folder}/${file}`, 'utf8')).trim()}\n`);
  }
  await writeFile('dist/THIRD-PARTY-LICENSES.txt', texts.join(`\n${'-'.repeat(80)}\n\n`));
}

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'reference-host': 'src/reference-host/index.ts',
    testing: 'src/testing/index.ts',
    // Programs that the others start, in processes and threads of their own.
    'conversion-process': 'src/tilesource/convert/conversion-process.ts',
    'openslide-process': 'src/tilesource/sources/openslide/openslide-process.ts',
    'codec-thread': 'src/tilesource/codecs/thread.ts',
    'csv-thread': 'src/features/annotations/plot/csv-thread.ts',
    'text-thread': 'src/features/configuration/text-thread.ts',
    'long-thread': 'src/features/annotations/elements/write/long-thread.ts',
    'drawing-thread': 'src/features/annotations/overlay/drawing-thread.ts',
    'yaml-thread': 'src/features/folder-configuration/yaml-thread.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: true,
  shims: true,
  splitting: true,
  clean: true,
  esbuildOptions(options) {
    // The one with short names has private members of the names of exports, which the translation to CommonJS mixes up.
    options.alias = { 'lru-cache': 'lru-cache/raw' };
  },
  // What the code reads beside itself, at run time.
  async onSuccess() {
    await cp('src/reference-host/viewer', 'dist/viewer', { recursive: true });
    await cp('src/reference-host/database/MemoryDatabase.java', 'dist/MemoryDatabase.java');
    await copySwaggerUi();
    await collectLicences();
  },
});
