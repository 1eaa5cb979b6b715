import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, vi } from 'vitest';
import './equal-bytes.js';

// Every run tries the same generated cases; FUZZ_SEED selects others.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_126) });

// Each test file has its own folder for temporary files, which the processes that it starts also use. So files that run at the
// same time do not see each other's temporary files, and nothing is left. Other files run in the same process afterwards. If all
// tests of a file are skipped, its hooks do not run, and the next file removes its folder.
const sharedProcess = process as NodeJS.Process & { testFolders?: { former: string; left: string | null } };
const folders = (sharedProcess.testFolders ??= { former: tmpdir(), left: null });
if (folders.left !== null) rmSync(folders.left, { recursive: true, force: true });
const { former } = folders;
const folder = mkdtempSync(join(former, 'large-image-test-'));
process.env.TMPDIR = folder;
folders.left = folder;
// The hooks of the test file run before this hook.
afterAll(async () => {
  vi.restoreAllMocks();
  vi.resetConfig();
  process.env.TMPDIR = former;
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  folders.left = null;
});
