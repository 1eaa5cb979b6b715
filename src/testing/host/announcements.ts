import assert from 'node:assert/strict';
import type { HostEventName, StoredDocument } from '../../host.js';
import { ModelEvents } from '../../core/host/host-events.js';
import type { HostChecks } from './trial.js';

/** Checks of the events that a host announces. */
export const announcementChecks: HostChecks = {
  'announces changes of items, files, access and tokens': async (trial) => {
    const modelEvents = trial.host.events === undefined ? new ModelEvents(trial.host.models) : null;
    const events = trial.host.events ?? modelEvents!;
    const receivedEvents: HostEventName[] = [];
    const names: HostEventName[] = [
      'item.saved',
      'item.removed',
      'items.removed',
      'file.saved',
      'file.removed',
      'files.removed',
      'access.changed',
      'folder.saved',
      'token.revoked',
    ];
    const unsubscribeFunctions = names.map((event) => events.on(event, () => void receivedEvents.push(event)));
    const expectEventAfter = async (work: () => Promise<unknown>, expected: HostEventName[]) => {
      receivedEvents.length = 0;
      await work();
      assert.ok(
        expected.some((event) => receivedEvents.includes(event)),
        `the host announces one of ${expected.join(', ')}; received: ${receivedEvents.join(', ') || 'nothing'}`,
      );
    };
    const { folder, item } = await trial.newItem(false);
    await expectEventAfter(() => trial.underTest.renameItem(item, 'another name'), ['item.saved']);
    let file: StoredDocument | undefined;
    await expectEventAfter(async () => (file = await trial.createFile(item)), ['file.saved']);
    await expectEventAfter(() => trial.host.files.remove(file!), ['file.removed', 'files.removed']);
    // Hooks on the models see neither roles in a separate table nor tokens. Their changes are noticed when cached verdicts expire.
    if (trial.host.events === undefined) await trial.underTest.grant(folder, trial.stranger, 0);
    else await expectEventAfter(() => trial.underTest.grant(folder, trial.stranger, 0), ['access.changed', 'folder.saved']);
    await expectEventAfter(() => trial.underTest.removeItem(item), ['item.removed', 'items.removed']);
    const revoke = trial.underTest.revokeToken?.bind(trial.underTest);
    if (revoke) {
      if (trial.host.events === undefined) await revoke(trial.stranger);
      else await expectEventAfter(() => revoke(trial.stranger), ['token.revoked']);
      assert.equal(await trial.verify(trial.stranger.token), null, 'a revoked token belongs to nobody');
    }
    for (const unsubscribe of unsubscribeFunctions) unsubscribe();
    modelEvents?.close();
  },
};
