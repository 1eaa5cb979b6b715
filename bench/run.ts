/** `npm run bench -- NAME`: measures one thing against a reference in the same run and prints ratios. */
const benches: Readonly<Record<string, string>> = {
  tiles: 'tiles/tiles.ts',
  zarr: 'tiles/zarr.ts',
  dicomweb: 'dicomweb.ts',
  annotations: 'annotations/annotations.ts',
  page: 'page.ts',
  jobs: 'jobs.ts',
  load: 'load/load.ts',
  kills: 'kills/kills.ts',
  capacity: 'capacity.ts',
  processes: 'processes.ts',
  guessers: 'guessers.ts',
  convert: 'convert.ts',
  formats: 'formats/formats.ts',
  'annotation-validate': 'annotation-validate.ts',
  'annotation-packs': 'annotation-packs.ts',
  'sample-kinds': 'sample-kinds.ts',
  inks: 'inks.ts',
  costly: 'costly.ts',
  registering: 'registering/registering.ts',
  finding: 'finding.ts',
};

const name = process.argv[2] ?? '';
const file = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (file === undefined) {
  console.error(`Usage: npm run bench -- NAME, where NAME is one of ${Object.keys(benches).join(', ')}.`);
  process.exitCode = 2;
} else {
  await import(new URL(file, import.meta.url).href);
}
