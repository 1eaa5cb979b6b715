// A process that writes and changes annotations in a given database until it is killed.
import { Mongoose } from 'mongoose';
import { crashLayout, openElements } from '../annotations/element-process.js';

const connection = await new Mongoose().createConnection(process.argv[2]!).asPromise();
const { store, documents } = openElements(connection);
const random = () => Math.random() * 1000;

/** All elements of a version have its number as their line width: half of a change would show. */
const elementsOf = (version: number, ids: readonly (string | undefined)[]) =>
  ids.map((id) => ({ type: 'point', center: [random(), random(), 0], lineWidth: version, ...(id !== undefined && { id }) }));

console.log('ready');
for (;;) {
  const ids: undefined[] = Array.from({ length: 30 + Math.floor(Math.random() * crashLayout.windowElements * 2) });
  const written = await store.write(elementsOf(1, ids));
  const first = await written.commit(async (elements) => {
    const inserted = await documents.insertOne({ version: 1, elements });
    return { _id: inserted.insertedId, elements };
  });
  let current = first.elements;
  for (let version = 2; version < 5; version += 1) {
    const ids: string[] = [];
    for await (const { element } of store.scan(current)) ids.push(element.id!);
    const put = elementsOf(version, [...ids.slice(0, -1), undefined, undefined]);
    const changing = await store.change(current, { put, remove: ids.slice(-1) });
    current = await changing.commit(async ({ stored }) => {
      const changed = await documents.findOneAndUpdate(
        { _id: first._id, version: version - 1 },
        { $set: { version, elements: stored } },
      );
      if (changed === null) throw new Error('Someone else changed the document');
      return stored;
    });
  }
}
