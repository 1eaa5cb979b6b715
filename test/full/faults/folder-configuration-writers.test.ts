import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';

const name = '.config.yaml';
let started: TestHost;
let second: ReferenceHost;

beforeAll(async () => {
  started = await startHost();
  second = await createReferenceHost({ mongoUri: started.databaseUri, dataDirectory: started.dataDirectory, brand: 'girder' });
});
afterAll(async () => {
  await second?.close();
  await started?.close();
});

it('nothing of a folder configuration is lost when two processes store at once', async () => {
  const admin = await started.register('admin');
  const user = await started.register('user');
  const parentId = await admin.create('/collection', { name: 'Images', public: true });
  const folder = await admin.create('/folder', { parentType: 'collection', parentId, name: 'Top', public: true });
  const path = `/folder/${folder}/yaml_config/${name}`;
  const elsewhere = new Client((await second.listen()).url, user.token, user.id);
  await admin.send('PUT', path, { body: 'b: 1\n' });
  const numbers = Array.from({ length: 12 }, (_, i) => i);
  const answers = await Promise.all(
    numbers.map((i) =>
      (i % 2 === 0 ? user : elsewhere).send('PUT', path, { body: `key${i}: ${i}\n`, query: { user_context: true } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 200));
  expect(await user.ok('GET', path)).toEqual({ b: 1, ...Object.fromEntries(numbers.map((i) => [`key${i}`, i])) });
  const [item] = await admin.ok('GET', '/item', { query: { folderId: folder, name } });
  expect(await admin.ok('GET', `/item/${String((item as { _id: string })._id)}/files`)).toHaveLength(1);
});
