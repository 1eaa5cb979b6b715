import { setImmediate as nextTurn } from 'node:timers/promises';

const valuesPerTurn = 100;

/** The values, with a turn of the event loop after every 100 values, because there may be 100,000 files. */
export async function* inTurns<T>(values: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const value of values) {
    yield value;
    count += 1;
    if (count % valuesPerTurn === 0) await nextTurn();
  }
}
