import { expect, it } from 'vitest';
import type { HostContext } from '../../../src/reference-host/context.js';
import { startUpkeep } from '../../../src/reference-host/upkeep/upkeep.js';

it('lets the server start although finishing an interrupted write takes long', async () => {
  let end = () => undefined as void;
  const recovery = new Promise<number>((resolve) => (end = () => resolve(1)));
  const logged: string[] = [];
  const context = {
    claims: { run: (_key: string, _options: object, work: () => Promise<void>) => work() },
    journal: { recoverInterrupted: () => recovery },
    logger: { info: (_fields: object, event: string) => logged.push(event), warn: () => undefined },
    otherFolder: {},
  } as unknown as HostContext;
  const stop = await startUpkeep(context, { uploadLifetimeMs: 1, recoveryWaitMs: 1 });
  expect(logged).toEqual([]);
  end();
  await stop();
  expect(logged).toEqual(['Host:Recovered']);
});
