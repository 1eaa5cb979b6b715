import { expect, it } from 'vitest';
import { readAccessList } from '../../../src/http/access-list.js';
import { AnnotationPermissions } from '../../../src/features/annotations/access/permissions.js';

const count = 5000;
const ids = Array.from({ length: count }, (_, i) => i.toString(16).padStart(24, '0'));
const entries = ids.map((id) => ({ id, level: 2 as const, flags: [] }));

/** A directory that counts how often an id of its results is read. */
function countingDirectory() {
  let looks = 0;
  const documentsOf = (requestedIds: readonly string[]) =>
    requestedIds.map((id) => ({
      get id() {
        looks += 1;
        return id;
      },
      login: id,
      name: id,
      description: '',
      hasMembers: true,
    }));
  const directory = {
    users: async (requestedIds: readonly string[]) => documentsOf(requestedIds),
    groups: async (requestedIds: readonly string[]) => documentsOf(requestedIds),
    groupsOf: async () => [],
  };
  return { directory, looks: () => looks };
}

it('a list of thousands is described by looking up each user and group only a few times', async () => {
  const { directory, looks } = countingDirectory();
  const permissions = new AnnotationPermissions({ directory } as never);
  const { users, groups } = await permissions.describeAccess({ access: { users: entries, groups: entries }, public: false });
  expect([users.length, groups.length]).toEqual([count, count]);
  expect(looks()).toBeLessThanOrEqual(2 * 10 * count);
});

it('a list of thousands is read by looking up each user and group only a few times', async () => {
  const { directory, looks } = countingDirectory();
  const list = await readAccessList(
    { users: entries, groups: entries },
    { directory, caller: null, knownFlags: new Set(), previous: { users: entries, groups: [] } },
  );
  expect([list.users.length, list.groups.length]).toEqual([count, count]);
  expect(looks()).toBeLessThanOrEqual(2 * 10 * count);
});
