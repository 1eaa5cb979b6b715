import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { defineConfig, type Options } from 'tsup';
import { swaggerFiles } from './src/http/describe/swagger-files.js';
import { writeViewer } from './src/reference-host/viewer-bundle.js';

const run = promisify(execFile);
const compress = promisify(brotliCompress);
/** Where `npm run build` has the compiler write declarations (tsconfig.build.json). */
const types = '.types';

/** Copies the page of the API. */
async function copySwaggerUi(folder: string): Promise<void> {
  await mkdir(`${folder}/swagger-ui`, { recursive: true });
  const copy = async (name: string) => {
    const bytes = await readFile(`node_modules/swagger-ui-dist/${name}`);
    // This is a tenth larger than with the highest quality, which takes five seconds.
    await writeFile(
      `${folder}/swagger-ui/${name}.br`,
      await compress(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    );
  };
  await Promise.all(swaggerFiles.map(copy));
}

/** Copies the files that the built code reads from its own folder at run time. */
export async function copyRunTimeFiles(folder: string): Promise<void> {
  const copyDatabase = () => cp('src/reference-host/database/MemoryDatabase.java', `${folder}/MemoryDatabase.java`);
  await Promise.all([writeViewer(`${folder}/viewer`), copyDatabase(), copySwaggerUi(folder)]);
}

/** Writes the types of the element. Of the viewer's other modules they contain only its texts. */
async function writeElementTypes(): Promise<void> {
  const words = [
    '-p',
    'src/viewer',
    '--noEmit',
    'false',
    '--declaration',
    '--emitDeclarationOnly',
    '--noCheck',
    '--incremental',
    'false',
    // The page shares a file with the server.
    '--rootDir',
    'src',
  ];
  await run('node_modules/.bin/tsc', [...words, '--outDir', 'dist/viewer-types']);
  for (const name of ['element.d.ts', 'languages/catalog.d.ts'])
    await cp(`dist/viewer-types/viewer/${name}`, `dist/viewer/${name}`);
  await rm('dist/viewer-types', { recursive: true });
  // React users import the element together with its types for JSX.
  await cp('src/viewer/react.d.ts', 'dist/viewer/react.d.ts');
}

/**
 * Collects the licenses of the packages that are bundled, as they demand. These are devDependencies, because an installation with them
 * would be larger.
 */
async function collectLicenses(): Promise<void> {
  // The bundled file of dcmjs contains its dependencies.
  const { dependencies } = JSON.parse(await readFile('node_modules/dcmjs/package.json', 'utf8')) as { dependencies: object };
  const names = new Set(['openseadragon', 'swagger-ui-dist', 'core-js-pure', ...Object.keys(dependencies)]);
  const path = 'dist/metafile-esm.json';
  const { outputs } = JSON.parse(await readFile(path, 'utf8')) as {
    outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
  };
  for (const { inputs } of Object.values(outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
      const [, found] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
      if (found !== undefined && bytesInOutput > 0) names.add(found);
    }
  }
  await rm(path);
  const texts: string[] = [];
  for (const name of [...names].toSorted()) {
    const folder = `node_modules/${name}`;
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|swagger-ui-bundle.*licen[cs]e)/i.test(file));
    if (files.length === 0) {
      const { version, license, repository } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
      if (!license) throw new Error(`${name} is bundled, and has no license.`);
      // The package has no file with the text of its license, so only the name of the license is included.
      texts.push(`${name} ${version}\n\n${license}, ${repository?.url ?? repository ?? 'npm'}\n`);
    }
    for (const file of files) texts.push(`${name}, ${file}\n\n${(await readFile(`${folder}/${file}`, 'utf8')).trim()}\n`);
  }
  await writeFile('dist/THIRD-PARTY-LICENSES.txt', texts.join(`\n${'-'.repeat(80)}\n\n`));
}

/** Adds everything except types to the bundled code. */
export async function completeCode(): Promise<void> {
  await copyRunTimeFiles('dist');
  await writeFile('dist/viewer/react.js', "export * from './element.js';\n");
  await collectLicenses();
}

/** How the published program is built. */
export const packageBuild = {
  entry: {
    index: 'src/index.ts',
    host: 'src/larger-host.ts',
    'reference-host': 'src/reference-host/index.ts',
    s3: 'src/s3/index.ts',
    testing: 'src/testing/index.ts',
    cli: 'src/cli/cli.ts',
    // Programs that the others start, in processes and threads of their own.
    'conversion-process': 'src/tilesource/convert/child/conversion-process.ts',
    'openslide-process': 'src/tilesource/sources/openslide/openslide-process.ts',
    'codec-thread': 'src/tilesource/codecs/threads/thread.ts',
    'csv-thread': 'src/features/annotations/plot/csv-thread.ts',
    'geojson-thread': 'src/features/annotations/documents/geojson-thread.ts',
    'table-thread': 'src/features/annotations/table/table-thread.ts',
    'table-import-thread': 'src/features/annotations/table-import/import-thread.ts',
    'text-thread': 'src/features/configuration/text-thread.ts',
    'long-thread': 'src/features/annotations/elements/write/long-thread.ts',
    'drawing-thread': 'src/features/annotations/overlay/drawing-thread.ts',
    'yaml-thread': 'src/features/folder-configuration/yaml-thread.ts',
  },
  // Node has required ES modules since 20.19, and Agenda, which every host has, is no CommonJS either.
  format: 'esm',
  target: 'node20',
  // tsup bundles declarations that the compiler has made. Making them itself would take it more than twice as long.
  dts: {
    entry: {
      index: `${types}/index.d.ts`,
      host: `${types}/larger-host.d.ts`,
      'reference-host': `${types}/reference-host/index.d.ts`,
      s3: `${types}/s3/index.d.ts`,
      testing: `${types}/testing/index.d.ts`,
    },
  },
  // Bundled packages that are written in CommonJS call `require` for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  splitting: true,
  metafile: true,
  // `npm run build` removes older files. tsup would also remove types that the build has just written.
  clean: false,
  // The built package has the page bundled already.
  external: ['esbuild'],
  esbuildOptions(options) {
    // Names stay as they are, so that an operator can read where an error came from.
    options.minifyWhitespace = true;
    options.minifySyntax = true;
    options.lineLimit = 160;
  },
  async onSuccess() {
    await completeCode();
    await writeElementTypes();
  },
} satisfies Options;

export default defineConfig(packageBuild);
