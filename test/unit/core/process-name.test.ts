import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { builtProgram } from '../../support/run/programs.js';
import { until } from '../../support/run/until.js';
import { hasEnded, processName } from '../../../src/core/database/leases/process-name.js';

const module = builtProgram('process-name');
const script = `import { processName } from ${JSON.stringify(module)}; console.log(processName()); setInterval(() => {}, 1000);`;

async function nameOf(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
  return chunk.toString().trim();
}

describe('the name of a process', () => {
  it('tells on the same machine that it has ended, and not before', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const name = await nameOf(child);
    expect([hasEnded(name), hasEnded(`${name}:a lease of it`)]).toEqual([false, false]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect([hasEnded(name), hasEnded(`${name}:a lease of it`)]).toEqual([true, true]);
  });

  it('says nothing about this process, processes of other machines, and other texts', () => {
    const [, pid, time] = processName().split('-');
    for (const text of [
      processName(),
      `${processName()}:1`,
      `000000000000-${pid}-${time}`,
      'host:4711:abc',
      '',
      `${processName()}a`,
    ]) {
      expect(hasEnded(text), text).toBe(false);
    }
  });

  it.runIf(process.platform === 'linux')('differs from the name of a later process with the same number', () => {
    const [space, pid, time] = processName().split('-');
    expect(hasEnded(`${space}-${pid}-${Number(time) - 1}`)).toBe(true);
  });

  it.runIf(process.platform === 'linux')('tells that a process has ended whose parent has not noticed it', async () => {
    // The shell is replaced by a program that never waits for its child processes.
    const words = ['-c', `"$0" --input-type=module -e "$1" & exec sleep 60`, process.execPath, script];
    const parent = spawn('sh', words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const name = await nameOf(parent);
    process.kill(Number(name.split('-')[1]), 'SIGKILL');
    await until('its end is known', () => hasEnded(name));
    parent.kill('SIGKILL');
  });
});
