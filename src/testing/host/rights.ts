import assert from 'node:assert/strict';
import type { AccessLevel } from '../../host.js';
import { idText } from '../../core/database/id-text.js';
import type { TestUser } from './host-under-test.js';
import type { HostChecks } from './trial.js';

/** Checks of identities and permissions. */
export const rightsChecks: HostChecks = {
  'finds the user of a valid token, and rejects any other text': async (trial) => {
    const caller = await trial.verify(trial.owner.token);
    assert.equal(caller?.id, trial.owner.id, 'a token belongs to the user who signed in with it');
    assert.equal(caller?.admin, false, 'a user made by createUser is not a site administrator');
    assert.ok(caller !== null && caller.scopes.length > 0, 'the token of a signed-in user has scopes');
    for (const text of ['', 'x', `${trial.owner.token}x`, '{"$gt":""}'])
      assert.equal(await trial.verify(text), null, `the text ${JSON.stringify(text)} is not a token`);
  },

  'gives owners at least write access, and strangers and anonymous callers only read access to public folders': async (trial) => {
    const caller = await trial.verify(trial.owner.token);
    const strangerCaller = await trial.verify(trial.stranger.token);
    for (const isPublic of [false, true]) {
      const { folder, item } = await trial.newItem(isPublic);
      for (const subject of [{ type: 'item', doc: item } as const, { type: 'folder', doc: folder } as const]) {
        assert.ok((await trial.host.access.level(caller, subject)) >= 1, `the owner may write to the ${subject.type}`);
        const word = `of a ${isPublic ? 'public' : 'private'} ${subject.type}`;
        assert.equal(
          await trial.host.access.level(strangerCaller, subject),
          isPublic ? 0 : -1,
          `the level of a stranger ${word}`,
        );
        assert.equal(
          await trial.host.access.level(null, subject),
          isPublic ? 0 : -1,
          `the level of an anonymous visitor ${word}`,
        );
      }
    }
  },

  'gives viewers and editors exactly the level that they were granted': async (trial) => {
    for (const [user, level, word] of [
      [await trial.underTest.createUser(), 0, 'a viewer'],
      [await trial.underTest.createUser(), 1, 'an editor'],
    ] as const) {
      const { folder, item } = await trial.newItem(false);
      await trial.underTest.grant(folder, user, level);
      const current = await trial.records.findFolder(idText(folder._id));
      assert.ok(current !== null, 'the folder is found by its id');
      const caller = await trial.verify(user.token);
      assert.equal(caller?.admin, false, `${word} is not a site administrator`);
      for (const subject of [{ type: 'item', doc: item } as const, { type: 'folder', doc: current.doc } as const]) {
        assert.equal(await trial.host.access.level(caller, subject), level, `the level of ${word} on the ${subject.type}`);
      }
      for (const minLevel of [0, 1, 2] as const) {
        const visibleItems = await trial.listVisibleIds('item', [item], { user, level: minLevel });
        assert.equal(
          visibleItems.length,
          minLevel <= level ? 1 : 0,
          `items that the filter finds for ${word} at level ${minLevel}`,
        );
        const visibleFolders = await trial.listVisibleIds('folder', [folder], { user, level: minLevel });
        assert.equal(
          visibleFolders.length,
          minLevel <= level ? 1 : 0,
          `folders that the filter finds for ${word} at level ${minLevel}`,
        );
      }
    }
  },

  'returns an access list with the owner and everybody who was granted access, if it has `access.list`': async (trial) => {
    const { access, directory } = trial.host;
    if (!access.list) return;
    const { folder } = await trial.newItem(false);
    const editor = await trial.underTest.createUser();
    await trial.underTest.grant(folder, editor, 1);
    const current = (await trial.records.findFolder(idText(folder._id)))!.doc;
    const list = await access.list(current);
    const levelIn = async ({ id }: TestUser): Promise<number> => {
      const groups = (await directory?.groupsOf(id)) ?? [];
      const entries = [
        ...list.users.filter((entry) => entry.id === id),
        ...list.groups.filter((entry) => groups.includes(entry.id)),
      ];
      return Math.max(-1, ...entries.map(({ level }) => level));
    };
    for (const [user, word] of [
      [trial.owner, 'the owner'],
      [editor, 'an editor'],
      [trial.stranger, 'a stranger'],
    ] as const) {
      const level = await access.level(await trial.verify(user.token), { type: 'folder', doc: current });
      assert.equal(await levelIn(user), level, `the level of ${word} in the access list`);
    }
    assert.equal(list.public, false, 'the access list of a private folder is not public');
    const publicFolder = await trial.underTest.createFolder({ owner: trial.owner, public: true });
    assert.equal((await access.list(publicFolder)).public, true, 'the access list of a public folder is public');
  },

  'finds users and groups by id, and no others, if it has a directory': async (trial) => {
    const { directory } = trial.host;
    if (directory === undefined) return;
    const unknownId = '0123456789abcdef01234567';
    const idsOf = (principals: readonly { id: string }[]) => principals.map(({ id }) => id).toSorted();
    assert.deepEqual(idsOf(await directory.users([])), [], 'users() of no ids returns nobody');
    assert.deepEqual(idsOf(await directory.users([unknownId])), [], 'users() of an unknown id returns nobody');
    assert.deepEqual(idsOf(await directory.users([trial.owner.id])), [trial.owner.id], 'users() of one id returns that user');
    assert.deepEqual(
      idsOf(await directory.users([trial.owner.id, unknownId, trial.stranger.id])),
      [trial.owner.id, trial.stranger.id].toSorted(),
      'users() returns the existing users among the ids, and no others',
    );
    const shownIds = idsOf(await directory.users([trial.owner.id], await trial.verify(trial.stranger.token)));
    assert.ok(
      shownIds.length === 0 || (shownIds.length === 1 && shownIds[0] === trial.owner.id),
      'users() shows one user to another, or nobody',
    );
    assert.deepEqual(idsOf(await directory.groups([])), [], 'groups() of no ids returns none');
    assert.deepEqual(idsOf(await directory.groups([unknownId])), [], 'groups() of an unknown id returns none');
    assert.deepEqual(await directory.groupsOf(unknownId), [], 'an unknown user belongs to no group');
  },

  'filters lists by the same permissions': async (trial) => {
    const publicItem = await trial.newItem(true);
    const privateItem = await trial.newItem(false);
    const docs = [publicItem.item, privateItem.item];
    const ids = docs.map(({ _id }) => _id);
    const seenBy = (user: TestUser | null, level: AccessLevel) => trial.listVisibleIds('item', docs, { user, level });
    const publicIds = [idText(publicItem.item._id)];
    assert.deepEqual(
      await seenBy(trial.owner, 0),
      ids.map(idText).sort(),
      'the filter of the owner finds public and private items',
    );
    assert.deepEqual(await seenBy(trial.stranger, 0), publicIds, 'the filter of a stranger finds only public items');
    assert.deepEqual(await seenBy(null, 0), publicIds, 'the filter of an anonymous visitor finds only public items');
    assert.deepEqual(await seenBy(trial.stranger, 1), [], 'the filter of a stranger finds nothing to write to');
  },
};
