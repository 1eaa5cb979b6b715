import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, vi } from 'vitest';
import './equal-bytes.js';

// Every run tries the same cases; FUZZ_SEED tries others.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_126) });

// Each test file has a folder for temporary files of its own, as do the processes it starts: files that run at the same time do not
// see what the others have there, and nothing stays.
// Further files run in the same process; one of which all tests are skipped runs no hooks, and the next one takes its folder away.
const kept = process as NodeJS.Process & { testFolders?: { former: string; left: string | null } };
const folders = (kept.testFolders ??= { former: tmpdir(), left: null });
if (folders.left !== null) rmSync(folders.left, { recursive: true, force: true });
const { former } = folders;
const folder = mkdtempSync(join(former, 'large-image-test-'));
process.env.TMPDIR = folder;
folders.left = folder;
// The hooks of the test file run before this one.
afterAll(async () => {
  vi.restoreAllMocks();
  vi.resetConfig();
  process.env.TMPDIR = former;
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  folders.left = null;
});
