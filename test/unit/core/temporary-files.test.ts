import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepTemporaryFiles, createTemporaryDirectory, temporaryPath } from '../../../src/core/temporary-files.js';
import { builtProgram } from '../../support/run/programs.js';

describe('temporary files', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'temporary-files-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('of a process that was killed are swept; those of a running one and files of others stay', async () => {
    const module = builtProgram('temporary-files');
    const script = `import { createTemporaryDirectory, temporaryPath } from ${JSON.stringify(module)};
      import { symlinkSync, writeFileSync } from 'node:fs';
      writeFileSync(temporaryPath(process.argv[1], '.tiff'), 'pyramid');
      symlinkSync('/nowhere', temporaryPath(process.argv[1]));
      const { path } = await createTemporaryDirectory(process.argv[1]);
      writeFileSync(path + '/converted.tiff', 'half of it');
      console.log('written');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder]);
    await once(child.stdout, 'data');
    const mine = temporaryPath(folder, '.tiff');
    await writeFile(mine, 'mine');
    await writeFile(join(folder, 'large-image-notes.txt'), 'somebody else');
    const directory = await createTemporaryDirectory(folder);
    expect(await sweepTemporaryFiles(folder)).toBe(0);
    expect(await readdir(folder)).toHaveLength(6);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await sweepTemporaryFiles(folder)).toBe(3);
    const remaining = [mine, directory.path].map((path) => basename(path));
    expect((await readdir(folder)).sort()).toEqual([...remaining, 'large-image-notes.txt'].sort());
    await directory.remove();
    expect(await readdir(folder)).not.toContain(basename(directory.path));
  });

  it('of other machines are swept when they are old', async () => {
    const name = (pid: number) => join(folder, `large-image-000000000000-${pid}-77_11111111-2222-3333-4444-555555555555.tiff`);
    await writeFile(name(1), 'old');
    await writeFile(name(2), 'fresh');
    const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await utimes(name(1), yesterday, yesterday);
    await symlink('/nowhere', name(3));
    expect(await sweepTemporaryFiles(folder)).toBe(1);
    expect((await readdir(folder)).sort()).toEqual([basename(name(2)), basename(name(3))].sort());
  });
});
