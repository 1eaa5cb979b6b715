import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, vi } from 'vitest';
import './equal-bytes.js';

// Each test file has a folder for temporary files of its own, as do the processes it starts: files that run at the same time do not
// see what the others have there, and nothing stays.
const former = tmpdir();
const folder = mkdtempSync(join(former, 'large-image-test-'));
process.env.TMPDIR = folder;
// The hooks of the test file run before this one. Further files run in the same process.
afterAll(async () => {
  vi.restoreAllMocks();
  vi.resetConfig();
  process.env.TMPDIR = former;
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});
