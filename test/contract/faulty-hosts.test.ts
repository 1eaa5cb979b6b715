import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HostEventEmitter, ModelEvents, type Host } from '../../src/index.js';
import { describeHost, type HostUnderTest } from '../../src/testing/index.js';
import { closeSpecimenServer, openSpecimenServer, specimenHost, type SpecimenServer } from '../../examples/host-adapter.js';
import { startTestDatabase } from '../support/hosts/database.js';
import { specimenActions } from '../../examples/host-test.js';

type Change = (host: Host) => Partial<Host>;

let server: SpecimenServer;
let stop: () => Promise<void>;
let actions: ReturnType<typeof specimenActions>;

beforeAll(async () => {
  const database = await startTestDatabase();
  server = await openSpecimenServer(database.uri);
  actions = specimenActions(server);
  stop = async () => {
    await closeSpecimenServer(server);
    await database.stop();
  };
});
afterAll(() => stop?.());

/** The host of the example server after a change. */
function hostWith(change: Change): HostUnderTest {
  const right = { ...specimenHost(server), directory: directoryOf() };
  return {
    host: { ...right, ...change(right) },
    countStored: async () => (await readdir(server.folder)).length,
    ...actions,
    close: async () => undefined,
  };
}

function directoryOf(): NonNullable<Host['directory']> {
  return {
    async users(ids) {
      const badges = await server.Badges.find({ person: { $in: [...ids] } }).lean();
      return badges.map(({ person }) => ({ id: person!, login: person!, name: person! }));
    },
    groups: async () => [],
    groupsOf: async () => [],
  };
}

/** The failure of a case of the suite for a host; `null` if it passes. */
async function failureOf(change: Change, name: string, hostParts: Partial<HostUnderTest> = {}): Promise<string | null> {
  type Run = () => Promise<void> | void;
  const cases = new Map<string, Run>();
  const around: Run[] = [];
  describeHost('a faulty host', async () => ({ ...hostWith(change), ...hostParts }), {
    describe: (_name, define) => define(),
    it: (caseName, run) => void cases.set(caseName, run),
    beforeAll: (run) => void around.push(run),
    afterAll: (run) => void around.push(run),
  });
  const run = cases.get(name);
  if (run === undefined) throw new Error(`There is no case "${name}", only: ${[...cases.keys()].join('; ')}`);
  const [before, after] = around;
  await before!();
  try {
    await run();
    return null;
  } catch (error) {
    return String(error);
  } finally {
    await after!();
  }
}

const access = (change: (right: Host['access']) => Partial<Host['access']>): Change => {
  return ({ access: right }) => ({ access: { ...right, ...change(right) } });
};
const files = (change: (right: Host['files']) => Partial<Host['files']>): Change => {
  return ({ files: right }) => ({ files: { ...right, ...change(right) } });
};

const rights = 'gives viewers and editors exactly the level that they were granted';
const list = 'returns an access list with the owner and everybody who was granted access, if it has `access.list`';
const directory = 'finds users and groups by id, and no others, if it has a directory';
const signal = 'stops storing a file when its signal is aborted, and leaves nothing behind';
const failed = 'leaves nothing behind when the stream of a file fails or is too short';
const announced = 'announces changes of items, files, access and tokens';
const stored = 'stores a stream as a file of the item, and returns its bytes by range and by path';
const removed = 'removes the record and the bytes of a file';

const faults: [fault: string, change: Change, name: string, says: RegExp][] = [
  [
    'takes editors for administrators',
    access((right) => ({
      level: async (...levelArguments) => {
        const level = await right.level(...levelArguments);
        return level === 1 ? 2 : level;
      },
    })),
    rights,
    /the level of an editor on the item/,
  ],
  [
    'takes viewers for editors in lists',
    access((right) => ({ filter: (caller, type) => right.filter(caller, type, 0) })),
    rights,
    /items that the filter finds for a viewer at level 1/,
  ],
  [
    'takes everybody for a site administrator',
    ({ auth }) => ({
      auth: {
        ...auth,
        strategies: undefined,
        verify: async (token) =>
          (await server.Badges.exists({ secret: token })) && {
            id: (await server.Badges.findOne({ secret: token }))!.person!,
            admin: true,
            scopes: ['core.user_auth'],
          },
      },
    }),
    rights,
    /a viewer is not a site administrator/,
  ],
  [
    'lists permissions without the owner',
    access((right) => ({
      list: async (folder) => {
        const accessList = await right.list!(folder);
        return { ...accessList, users: accessList.users.filter(({ level }) => level < 2) };
      },
    })),
    list,
    /the level of the owner in the access list/,
  ],
  [
    'lists permissions as if everybody might read',
    access((right) => ({ list: async (folder) => ({ ...(await right.list!(folder)), public: true }) })),
    list,
    /access list of a private folder is not public/,
  ],
  [
    'ignores the ids that its directory is asked for',
    () => ({
      directory: {
        ...directoryOf(),
        users: async () => directoryOf().users(await server.Badges.distinct('person')),
      },
    }),
    directory,
    /users\(\) of no ids returns nobody/,
  ],
  [
    'ignores the signal of uploads',
    files((right) => ({ create: (file, content) => right.create(file, content) })),
    signal,
    /not stored when the signal/,
  ],
  [
    'leaves the bytes of failed uploads',
    files((right) => ({
      create: async (file, content, options) =>
        right.create(file, content, options).catch(async (error: unknown) => {
          await writeFile(join(server.folder, `left-${Date.now()}-${Math.random()}`), 'left');
          throw error;
        }),
    })),
    failed,
    /leaves no bytes in the storage/,
  ],
  [
    'leaves the bytes of removed files',
    files(() => ({ remove: async (file) => void (await server.Blobs.findByIdAndDelete(file._id)) })),
    removed,
    /leaves no bytes in the storage/,
  ],
  [
    'has events of its own, and announces nothing',
    () => ({ events: new HostEventEmitter() }),
    announced,
    /one of item.saved; received: nothing/,
  ],
  [
    'offers the events of its models, and says nothing of tokens',
    ({ models }) => ({ events: new ModelEvents(models) }),
    announced,
    /one of token.revoked; received: nothing/,
  ],
];

/** Names files by their hash, so that equal files share their bytes. */
const byHash = files((right) => ({
  async create(file, content, options) {
    const created = await right.create(file, content, options);
    const from = (await right.localPath(created))!;
    const storedAs = createHash('sha256')
      .update(await readFile(from))
      .digest('hex');
    await rename(from, join(server.folder, storedAs));
    return (await server.Blobs.findByIdAndUpdate(
      created._id,
      { storedAs },
      { returnDocument: 'after' },
    ).lean()) as unknown as typeof created;
  },
  async remove(file) {
    const { storedAs } = file as unknown as { storedAs: string };
    await server.Blobs.findByIdAndDelete(file._id);
    if (!(await server.Blobs.exists({ storedAs }))) await rm(join(server.folder, storedAs), { force: true });
  },
}));

describe('the suite for hosts', () => {
  it('finds nothing wrong with a host that names files by their hash', async () => {
    for (const name of [stored, failed, removed, signal]) expect([name, await failureOf(byHash, name)]).toEqual([name, null]);
  });

  it('does not ask a host with stateless tokens to revoke one', async () => {
    expect(await failureOf(() => ({}), announced, { revokeToken: undefined })).toBe(null);
  });

  it.for(faults)('finds a host that %s', async ([, change, name, message]) => {
    expect(await failureOf(change, name)).toMatch(message);
  });

  it('finds nothing wrong in any of these checks when the host is correct', async () => {
    for (const name of [rights, list, directory, signal, failed, removed, announced])
      expect([name, await failureOf(() => ({}), name)]).toEqual([name, null]);
  });

  it('does not require events of changes that hooks cannot see, such as those of roles in a separate table', async () => {
    // Its folders are not saved when a user is given a role.
    const roles: Change = ({ models }) => ({ models: { ...models, folder: models.item } });
    expect(await failureOf(roles, announced)).toBe(null);
    const withoutHooks: Change = ({ models }) => ({ events: new ModelEvents({ ...models, folder: models.item }) });
    expect(await failureOf(withoutHooks, announced)).toMatch(/one of access.changed, folder.saved; received: nothing/);
  });
});
