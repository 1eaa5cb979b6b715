import { cp } from 'node:fs/promises';
import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'reference-host': 'src/reference-host/index.ts',
    testing: 'src/testing/index.ts',
    // Programs that the others start, in processes and threads of their own.
    'conversion-process': 'src/tilesource/convert/conversion-process.ts',
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
  // What the code reads beside itself, at run time.
  async onSuccess() {
    await cp('src/reference-host/viewer', 'dist/viewer', { recursive: true });
    await cp('src/reference-host/database/MemoryDatabase.java', 'dist/MemoryDatabase.java');
  },
});
