import { expect } from 'vitest';
import { elementsOf, point } from '../hosts/annotated.js';
import type { Client } from '../hosts/reference-host.js';
import { until } from '../run/until.js';
import type { Json, Place, PluginWrite } from './plugin-writes.js';

export const elementCount = 100;
export const points = (count: number, lineWidth: number) => Array.from({ length: count }, (_, x) => point(x, { lineWidth }));
const annotate = (client: Client, item: string, json: unknown) =>
  client.ok('POST', '/annotation', { query: { itemId: item }, json });
const annotated = async (client: Client, place: Place) => {
  place.prepared = String((await annotate(client, place.item, { name: 'a', elements: points(elementCount, 1) }))._id);
};
export const listed = (client: Client, item: string) =>
  client.ok('GET', '/annotation', { query: { itemId: item, limit: 0 } }) as unknown as Promise<Json[]>;
/** The number and line widths of the elements of an annotation. */
export const shape = async (client: Client, id: unknown): Promise<[number, ...unknown[]]> => {
  const elements = elementsOf(await client.ok('GET', `/annotation/${String(id)}`));
  return [elements.length, ...new Set(elements.map(({ lineWidth }) => lineWidth))];
};
const shapeIsOneOf = async (client: Client, id: unknown, ...shapes: [number, ...unknown[]][]) => {
  expect(shapes).toContainEqual(await shape(client, id));
};
const isReplaced = (step: string) => ['annotation:replaced', 'elements:released'].includes(step);

/** Writes of annotations while former versions are kept. */
export const annotationWrites: Record<string, PluginWrite> = {
  'a new annotation': {
    steps: ['elements:begun', 'elements:inserted', 'elements:stored', 'annotation:inserted', 'elements:released'],
    act: (client, { item }) => annotate(client, item, { name: 'a', elements: points(elementCount, 1) }),
    async check(client, { item }, step) {
      const annotations = await listed(client, item);
      expect(annotations).toHaveLength(['annotation:inserted', 'elements:released'].includes(step) ? 1 : 0);
      for (const { _id } of annotations) expect(await shape(client, _id)).toEqual([elementCount, 1]);
    },
  },
  'a list of annotations': {
    steps: ['annotation:inserted', 'annotation:list-committed', 'annotation:list-settled'],
    act: (client, { item }) =>
      client.ok('POST', `/annotation/item/${item}`, { json: ['a', 'b', 'c'].map((name) => ({ name, elements: points(20, 1) })) }),
    async check(client, { item }, step) {
      const annotations = await listed(client, item);
      expect(annotations).toHaveLength(step === 'annotation:inserted' ? 0 : 3);
      for (const { _id } of annotations) expect(await shape(client, _id)).toEqual([20, 1]);
    },
  },
  'added elements': {
    steps: [
      'elements:leased',
      'elements:inserted',
      'elements:stored',
      'annotation:kept',
      'annotation:replaced',
      'elements:released',
    ],
    prepare: annotated,
    act: (client, { prepared }) => client.ok('POST', `/annotation/${prepared}/elements`, { json: points(50, 1) }),
    async check(client, { prepared }, step) {
      const count = elementCount + (isReplaced(step) ? 50 : 0);
      expect(await shape(client, prepared)).toEqual([count, 1]);
      await client.ok('POST', `/annotation/${prepared}/elements`, { json: points(1, 1) });
      expect(await shape(client, prepared)).toEqual([count + 1, 1]);
    },
  },
  'several edits that are written together': {
    steps: ['annotation:replaced#2', 'annotation:between-kept'],
    prepare: annotated,
    // The first change is written alone, and the others wait for it.
    act: (client, { prepared }) =>
      Promise.all([1, 2, 3, 4, 5, 6].map(() => client.ok('POST', `/annotation/${prepared}/elements`, { json: points(10, 1) }))),
    async check(client, { prepared }) {
      const [count] = await shape(client, prepared);
      expect([20, 30, 40, 50, 60]).toContain(count - elementCount);
      const history = (await client.ok('GET', `/annotation/${prepared}/history`)) as unknown as Json[];
      for (const { _version } of history) await client.ok('GET', `/annotation/${prepared}/history/${String(_version)}`);
    },
  },
  'a replaced annotation': {
    steps: ['annotation:kept', 'annotation:replaced'],
    prepare: annotated,
    act: (client, { prepared }) => client.ok('PUT', `/annotation/${prepared}`, { json: { name: 'b', elements: points(60, 2) } }),
    async check(client, { prepared }, step) {
      expect(await shape(client, prepared)).toEqual(isReplaced(step) ? [60, 2] : [elementCount, 1]);
    },
  },
  'a restored version': {
    steps: ['elements:leased', 'annotation:replaced'],
    async prepare(client, place) {
      await annotated(client, place);
      await client.ok('PUT', `/annotation/${place.prepared}`, { json: { name: 'b', elements: points(60, 2) } });
    },
    act: (client, { prepared }) => client.ok('PUT', `/annotation/${prepared}/history/revert`),
    async check(client, { prepared }, step) {
      expect(await shape(client, prepared)).toEqual(isReplaced(step) ? [elementCount, 1] : [60, 2]);
    },
  },
  'a copy': {
    steps: ['elements:leased', 'annotation:inserted'],
    prepare: annotated,
    act: (client, { prepared, item }) => client.ok('POST', `/annotation/${prepared}/copy`, { query: { itemId: item } }),
    async check(client, { item }, step) {
      const annotations = await listed(client, item);
      expect(annotations).toHaveLength(step === 'annotation:inserted' ? 2 : 1);
      for (const { _id } of annotations) expect(await shape(client, _id)).toEqual([elementCount, 1]);
    },
  },
  'access lists of the annotations of a folder': {
    steps: ['annotations:noted', 'annotations:changed'],
    async prepare(client, place) {
      await annotated(client, place);
      await annotate(client, place.item, { name: 'b' });
    },
    act: (client, place) => makePublic(client, place),
    async check(client, place) {
      const publicOnes = async () => (await listed(client, place.item)).filter((each) => each.public === true).length;
      await until('all are public', async () => (await publicOnes()) === 2);
    },
  },
  'the removal of the annotations of an item': {
    steps: ['annotations:noted', 'annotations:changed'],
    async prepare(client, place) {
      await annotated(client, place);
      await annotate(client, place.item, { name: 'b' });
    },
    act: (client, { item }) => client.ok('DELETE', `/annotation/item/${item}`),
    async check(client, { item }) {
      await until('all are removed', async () => (await listed(client, item)).length === 0);
    },
  },
  densities: {
    steps: ['density:blocks-stored'],
    // All requests go to one process, because other processes would count the densities as soon as they are idle.
    async act(client, place) {
      place.prepared = String((await annotate(client, place.item, { name: 'many', elements: points(3000, 1) }))._id);
      await client.ok('GET', `/annotation/${place.prepared}/tiles/zxy/0/0/0`);
    },
    async check(client, { prepared }) {
      expect((await client.send('GET', `/annotation/${prepared}/tiles/zxy/0/0/0`)).status).toBe(200);
    },
  },
};

const makePublic = (client: Client, { folder }: Place) => {
  const access = JSON.stringify({ users: [{ id: client.id, level: 2, flags: [] }], groups: [] });
  return client.ok('PUT', `/annotation/folder/${folder}/access`, { query: { access, public: true } });
};

/** Writes of annotations while no former versions are kept. */
export const finalWrites: Record<string, PluginWrite> = {
  'the permanent removal of an annotation': {
    steps: [
      'annotation:removed',
      'annotation:former-removed',
      'elements-sweep:claimed',
      'elements-sweep:removed',
      'elements-sweep:ended',
    ],
    prepare: annotated,
    act: (client, { prepared }) => client.ok('DELETE', `/annotation/${prepared}`),
    async check(client, { prepared }) {
      expect((await client.send('GET', `/annotation/${prepared}`)).status).toBe(404);
    },
  },
  'a replacement of all elements': {
    steps: ['annotation:replaced'],
    prepare: annotated,
    act: (client, { prepared }) => client.ok('PUT', `/annotation/${prepared}`, { json: { name: 'b', elements: points(60, 2) } }),
    check: (client, { prepared }) => shapeIsOneOf(client, prepared, [60, 2]),
  },
};

const identifier = 'LargeImageAnnotationUpload';
const uploadAnnotations = (client: Client, item: string, elements: unknown, more: Json = {}) => {
  const body = Buffer.from(JSON.stringify([{ name: 'a', elements }]));
  const reference = JSON.stringify({ identifier, itemId: item, ...more });
  const query = { parentType: 'item', parentId: item, name: 'a.json', size: body.length, reference };
  return client.ok('POST', '/file', { query, body });
};
const isRead = async (client: Client, { item }: Place) => {
  await until('they are read', async () => (await listed(client, item)).length > 0);
  expect(await listed(client, item)).toHaveLength(1);
};
const uploadJobs = '["large_image_annotation_upload"]';
type UploadJob = { _id: string; status: number; kwargs: Json };
const jobsFor = async (client: Client, item: string) => {
  const jobs = (await client.ok('GET', '/job', { query: { types: uploadJobs, limit: 0 } })) as unknown as UploadJob[];
  return jobs.filter(({ kwargs }) => kwargs.itemId === item);
};
const onlyImage = async (client: Client, { item }: Place) => {
  await until('the upload is gone', async () => {
    const files = (await client.ok('GET', `/item/${item}/files`)) as unknown[];
    if (files.length === 1) return true;
    const jobs = (await jobsFor(client, item)).map(({ _id }) => client.ok('GET', `/job/${_id}`));
    throw new Error(JSON.stringify((await Promise.all(jobs)).map(({ status, log }) => ({ status, log }))));
  });
};
const uuid = ({ item }: Place) => ({ uuid: `batch ${item}` });
const uploadWaiting = (client: Client, place: Place) =>
  uploadAnnotations(client, place.item, [{ type: 'image', girderId: 'late' }], uuid(place));
const uploadLate = (client: Client, { folder, item }: Place) => {
  const reference = JSON.stringify({ identifier: 'late', uuid: `batch ${item}` });
  const query = { parentType: 'folder', parentId: folder, name: 'late', size: 3, reference };
  return client.ok('POST', '/file', { query, body: 'abc' });
};

const twoAnnotations = Buffer.from(JSON.stringify([{ name: 'a', elements: points(elementCount, 1) }, { name: 'b' }]));

/** Files of annotations, which jobs read. */
export const annotationUploads: Record<string, PluginWrite> = {
  'uploaded annotations': {
    steps: ['annotation-upload:job-stored', 'annotation-upload:read', 'annotation-upload:removed'],
    act: (client, { item }) => uploadAnnotations(client, item, points(elementCount, 1)),
    async check(client, place) {
      await isRead(client, place);
      const [annotation] = await listed(client, place.item);
      expect(await shape(client, annotation!._id)).toEqual([elementCount, 1]);
      await onlyImage(client, place);
    },
  },
  'uploaded annotations of which the client has not heard': {
    steps: ['upload:published', 'upload:announced'],
    async prepare(client, place) {
      const reference = JSON.stringify({ identifier, itemId: place.item });
      const { length: size } = twoAnnotations;
      const query = { parentType: 'item', parentId: place.item, name: 'a.json', size, reference };
      place.prepared = String((await client.ok('POST', '/file', { query }))._id);
    },
    act: (client, { prepared }) =>
      client.ok('POST', '/file/chunk', { query: { uploadId: prepared, offset: 0 }, body: twoAnnotations }),
    async check(client, place) {
      const query = { uploadId: place.prepared };
      const { status, body } = await client.send('GET', '/file/offset', { query });
      // It is complete, unless the file has been read and removed by now.
      if (status === 200) {
        expect(body.offset).toBe(twoAnnotations.length);
        await client.ok('POST', '/file/completion', { query });
      }
      await onlyImage(client, place);
      await until('the job has ended', async () => {
        const jobs = await jobsFor(client, place.item);
        expect(jobs).toHaveLength(1);
        return jobs[0]!.status === 3;
      });
      expect(await listed(client, place.item)).toHaveLength(2);
      expect((await client.send('GET', '/file/offset', { query })).status).toBe(400);
    },
  },
  'uploaded annotations that wait for others': {
    steps: ['annotation-upload:parked'],
    act: uploadWaiting,
    async check(client, place) {
      await uploadLate(client, place);
      await isRead(client, place);
      await onlyImage(client, place);
    },
  },
  'uploaded annotations of which the others have come': {
    steps: ['annotation-upload:started-again'],
    async act(client, place) {
      const file = await uploadWaiting(client, place);
      const query = { types: uploadJobs, limit: 0 };
      const isParked = async () => {
        const jobs = (await client.ok('GET', '/job', { query })) as unknown as UploadJob[];
        return jobs.some(({ status, kwargs }) => status === 3 && kwargs.fileId === file._id);
      };
      await until('they wait', isParked);
      await uploadLate(client, place);
    },
    async check(client, place) {
      await isRead(client, place);
      await onlyImage(client, place);
    },
  },
};
