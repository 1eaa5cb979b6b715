import { expect } from 'vitest';
import type { Client } from '../hosts/reference-host.js';
import type { Json, PluginWrite } from './plugin-writes.js';

const write = async (client: Client, path: string, text: string) =>
  String((await client.ok('POST', path, { json: { text } }))._id);
const threads = async (client: Client, item: string) => (await client.ok('GET', `/item/${item}/comment`)) as unknown as Json[];

/** Writes of comments. `prepared` is the first comment of a thread, or its only reply. */
export const commentWrites: Record<string, PluginWrite> = {
  'a reply to a comment': {
    steps: ['comment:counted'],
    async prepare(client, place) {
      place.prepared = await write(client, `/item/${place.item}/comment`, 'a');
    },
    act: (client, { prepared }) => write(client, `/comment/${prepared}/reply`, 'b'),
    async check(client, { prepared, item }) {
      expect(await threads(client, item)).toMatchObject([{ _id: prepared, replies: 0 }]);
      await write(client, `/comment/${prepared}/reply`, 'c');
      expect(await threads(client, item)).toMatchObject([{ _id: prepared, replies: 1 }]);
    },
  },
  'the removal of a reply': {
    steps: ['comment:reply-removed'],
    async prepare(client, place) {
      place.prepared = await write(client, `/comment/${await write(client, `/item/${place.item}/comment`, 'a')}/reply`, 'b');
    },
    act: (client, { prepared }) => client.ok('DELETE', `/comment/${prepared}`),
    async check(client, { item }) {
      const [thread] = await threads(client, item);
      expect(thread).toMatchObject({ text: 'a', replies: 0 });
      await client.ok('DELETE', `/comment/${String(thread!._id)}`);
    },
  },
};
