import mongoose, { type Connection } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AnnotationElement } from '../../../../src/annotation-format/schema/document.js';
import type { StoredElements } from '../../../../src/features/annotations/elements/element-store.js';
import { PackedElementStore } from '../../../../src/features/annotations/elements/store.js';
import { AnnotationDensityModel } from '../../../../src/features/annotations/overlay/density.model.js';
import { MongoElementRecords } from '../../../../src/features/annotations/elements/element-records.model.js';
import { OwnCollections } from '../../../../src/core/database/own-collections.js';
import { AnnotationDensities, minStoredElements } from '../../../../src/features/annotations/overlay/densities.js';
import { Drawer } from '../../../../src/features/annotations/overlay/drawer.js';
import { AnnotationOverlay, type OverlayStyle } from '../../../../src/features/annotations/overlay/overlay.js';
import { startTestDatabase } from '../../../support/hosts/database.js';
import { commitWrite } from '../../../support/annotations/element-store.js';
import { randomNumbers } from '../../../support/annotations/marks.js';
import { until } from '../../../support/run/until.js';

const silent = () => {};
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const side = 16_384;
const style: OverlayStyle = { mode: 'element', groups: undefined, gain: 1 };

function shapes(count: number): AnnotationElement[] {
  const random = randomNumbers(11);
  return Array.from({ length: count }, (_, i): AnnotationElement => {
    const center: [number, number, number] = [random() * side, random() * side, 0];
    const style = {
      fillColor: ['#ff0000', 'rgba(0, 0, 255, 0.5)'][i % 2]!,
      lineColor: '#00ff00',
      lineWidth: 2,
      group: `g${i % 3}`,
    };
    // Some shapes are drawn at every level.
    const size = i % 100 === 0 ? 2000 : 6 + 20 * random();
    return { type: 'ellipse', center, width: size, height: size, ...style };
  });
}

describe('the overlay of stored elements', () => {
  const drawer = new Drawer();
  let database: { uri: string; stop: () => Promise<void> };
  let connection: Connection;
  let records: MongoElementRecords;
  let store: PackedElementStore;
  let model: AnnotationDensityModel;
  let stored: StoredElements;
  let elements: AnnotationElement[];

  const overlayOf = (densityModel: AnnotationDensityModel) => {
    const densities = new AnnotationDensities({ store, model: densityModel, drawer, logger });
    return { densities, overlay: new AnnotationOverlay({ store, densities, drawer }) };
  };

  beforeAll(async () => {
    database = await startTestDatabase();
    connection = await mongoose.createConnection(database.uri).asPromise();
    const ownCollections = new OwnCollections(connection);
    records = new MongoElementRecords(ownCollections);
    store = new PackedElementStore({ records, brand: 'service', overlaySizes: () => Promise.resolve(null) });
    model = new AnnotationDensityModel(ownCollections);
    await store.createIndexes();
    await model.createIndexes();
    elements = shapes(3 * minStoredElements);
    stored = await commitWrite(await store.write(elements));
  });

  afterAll(async () => {
    await drawer.close();
    await connection.close();
    await database.stop();
  });

  const draw = async (of: StoredElements, level: number, x = 0, y = 0, groups?: ReadonlySet<string | null>) => {
    const scale = 2 ** level;
    const view = { left: x * 256 * scale, top: y * 256 * scale, scale, width: 256, height: 256 };
    return await overlayOf(model).overlay.draw(of, view, { ...style, groups });
  };

  it('is the same from stored densities as from a new count', async () => {
    // Few elements are counted when they are drawn. Among others, the same elements are drawn from stored densities. With gain 1
    // both pictures are comparable.
    const groups = ['g1'];
    for (const level of [6, 3]) {
      for (const group of groups) {
        const of = elements.filter((element) => element.group === group).slice(0, minStoredElements - 1);
        const part = await commitWrite(await store.write(of));
        const counted = await draw(part, level);
        const written = await commitWrite(await store.write([...of, ...of.map((e) => ({ ...e, group: 'other' }))]));
        expect(written.count).toBeGreaterThanOrEqual(minStoredElements);
        const drawn = await draw(written, level, 0, 0, new Set([group]));
        let [worst, sum] = [0, 0];
        for (let at = 3; at < drawn.length; at += 4) {
          worst = Math.max(worst, Math.abs(drawn[at]! - counted[at]!));
          sum += counted[at]!;
        }
        expect(sum).toBeGreaterThan(10);
        expect(worst).toBeLessThan(0.04);
      }
    }
  });

  it('is refused when too many large shapes overlap, with or without a heat map below them', async () => {
    const whole: AnnotationElement = { type: 'rectangle', center: [16, 16, 0], width: 32, height: 32 };
    const heatMap: AnnotationElement = { type: 'heatmap', points: [[16, 16, 0, 1]], radius: 4 };
    const view = { left: 0, top: 0, scale: 1, width: 32, height: 32 };
    // A picture can have 32,000 of its own areas in boxes. This is checked at least after every 4 MiB of elements.
    const rectangles = Array.from({ length: 70_000 }, () => whole);
    for (const below of [[], [heatMap]]) {
      const written = await commitWrite(await store.write([...below, ...rectangles]));
      await expect(overlayOf(model).overlay.draw(written, view, style)).rejects.toThrow('Too many large shapes overlap here.');
    }
  });

  it('makes densities once, and again only for windows that changed', async () => {
    const { densities } = overlayOf(model);
    const [summary] = await densities.loadSummaries(stored);
    expect(summary?.levels).not.toBeNull();
    const timeMade = async (id: string) =>
      (await connection.collection('large_image_annotation_density').findOne({ _id: id as never }))?.made as Date;
    const before = await timeMade(stored.windows[0]!.id);
    expect(before).toBeInstanceOf(Date);
    await overlayOf(model).densities.loadSummaries(stored);
    expect(await timeMade(stored.windows[0]!.id)).toEqual(before);
    const { stored: changed } = await commitWrite(await store.change(stored, { remove: [stored.windows[0]!.lowId] }));
    expect(changed.windows[0]!.id).not.toBe(stored.windows[0]!.id);
    await overlayOf(model).densities.loadSummaries(changed);
    expect(await timeMade(changed.windows[0]!.id)).toBeInstanceOf(Date);
    // Unreferenced data is removed.
    const removed = await densities.sweep(async function* (family) {
      if (family === stored.family) yield changed;
    });
    expect(removed).toBeGreaterThan(0);
    expect(await model.findSummaries([stored.windows[0]!.id, changed.windows[0]!.id])).toHaveLength(1);
  });

  it('makes densities in the background only when nothing has been written for a while', async () => {
    const stored = await commitWrite(await store.write(shapes(minStoredElements)));
    const { densities } = overlayOf(model);
    const isThere = async () => (await model.findSummaries(stored.windows.map(({ id }) => id))).length > 0;
    // The clock of the store: it says that something was just written, until the test changes it.
    const idle = vi.spyOn(store, 'idleMs', 'get').mockReturnValue(0);
    try {
      densities.plan(stored);
      await until('it was asked twice', () => idle.mock.calls.length > 1);
      expect(await isThere()).toBe(false);
      idle.mockReturnValue(60_000);
      await until('densities are there', isThere);
    } finally {
      idle.mockRestore();
    }
    await densities.close();
  });

  it('shows all elements at the lowest level, with groups chosen, as PNG and as vector tile', async () => {
    const { overlay } = overlayOf(model);
    const view = { left: 0, top: 0, scale: 64, width: 256, height: 256 };
    const covered = (pixels: Float32Array) => pixels.filter((value, i) => i % 4 === 3 && value > 0.001).length;
    const ofAllGroups = covered(await overlay.draw(stored, view, { ...style, gain: undefined }));
    expect(ofAllGroups).toBeGreaterThan(5000);
    const ofOneGroup = covered(await overlay.draw(stored, view, { ...style, groups: new Set(['g1']) }));
    expect(ofOneGroup).toBeLessThan(ofAllGroups);
    expect(ofOneGroup).toBeGreaterThan(0);
    expect(covered(await overlay.draw(stored, view, { ...style, groups: new Set(['no such group']) }))).toBe(0);
    const png = await overlay.drawPng(stored, view, style);
    expect([png.type, Buffer.from(png.bytes.subarray(1, 4)).toString()]).toEqual(['image/png', 'PNG']);
    expect((await overlay.drawVectorTile(stored, view, style)).bytes.length).toBeGreaterThan(1000);
    const neighborView = { ...view, left: 10 * side };
    expect(covered(await overlay.draw(stored, neighborView, style))).toBe(0);
  });

  it('reports the visible colors and the number of elements of each group, for few elements and for many', async () => {
    const { overlay } = overlayOf(model);
    const few = await commitWrite(
      await store.write([
        { ...shapes(1)[0]!, group: 'a', lineColor: '#123456' },
        { ...shapes(1)[0]!, group: 'a' },
        { ...shapes(1)[0]!, group: 'a' },
        { type: 'point', center: [1, 1, 0], fillColor: '#0000ff' },
      ]),
    );
    const groups = Object.fromEntries(await overlay.countGroups(few));
    expect(groups).toEqual({ a: { color: '#00ff00', count: 3 }, null: { color: '#0000ff', count: 1 } });
    const third = { color: '#00ff00', count: minStoredElements };
    expect(Object.fromEntries(await overlay.countGroups(stored))).toEqual({ g0: third, g1: third, g2: third });
  });

  it('ends early when the request does', async () => {
    const { overlay } = overlayOf(model);
    const view = { left: 0, top: 0, scale: 1, width: 256, height: 256 };
    const signal = AbortSignal.abort(new Error('gone'));
    await expect(overlay.draw(stored, view, style, { signal })).rejects.toThrow('gone');
  });
});
