import { expect } from 'vitest';
import type { Client } from '../hosts/reference-host.js';
import type { Json, PluginWrite } from './plugin-writes.js';

const write = async (client: Client, path: string, text: string) =>
  String((await client.ok('POST', path, { json: { text } }))._id);
const threads = async (client: Client, item: string) => (await client.ok('GET', `/item/${item}/comment`)) as unknown as Json[];

/** Writes of comments. `made` is the first comment of a thread, or its only reply. */
export const commentWrites: Record<string, PluginWrite> = {
  'a reply to a comment': {
    steps: ['comment:counted'],
    async prepare(client, place) {
      place.made = await write(client, `/item/${place.item}/comment`, 'a');
    },
    act: (client, { made }) => write(client, `/comment/${made}/reply`, 'b'),
    async check(client, { made, item }) {
      expect(await threads(client, item)).toMatchObject([{ _id: made, replies: 0 }]);
      await write(client, `/comment/${made}/reply`, 'c');
      expect(await threads(client, item)).toMatchObject([{ _id: made, replies: 1 }]);
    },
  },
  'the removal of a reply': {
    steps: ['comment:reply-removed'],
    async prepare(client, place) {
      place.made = await write(client, `/comment/${await write(client, `/item/${place.item}/comment`, 'a')}/reply`, 'b');
    },
    act: (client, { made }) => client.ok('DELETE', `/comment/${made}`),
    async check(client, { item }) {
      const [thread] = await threads(client, item);
      expect(thread).toMatchObject({ text: 'a', replies: 0 });
      await client.ok('DELETE', `/comment/${String(thread!._id)}`);
    },
  },
};
