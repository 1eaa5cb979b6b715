/**
 * Whether tables are run in full. They are in every run except `npm test`, which tries samples of the tables of the group
 * `tables`.
 */
export const isFull = process.env.TEST_GROUPS !== 'core';

/** All rows of a table, or in `npm test` some of them, evenly distributed. */
export function sampleOf<T>(rows: readonly T[], count: number): T[] {
  if (isFull || rows.length <= count) return [...rows];
  return Array.from({ length: count }, (_, at) => rows[Math.floor((at * rows.length) / count)]!);
}

/** How many generated cases are tried: a part of them in `npm test`, all of them otherwise. */
export const casesOf = (all: number, part = 1 / 10): number => (isFull ? all : Math.ceil(all * part));
