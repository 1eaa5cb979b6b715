/** Whether a run tries tables in full: every run but `npm test`, which tries samples of those that the group `tables` runs in full. */
export const isFull = process.env.TEST_GROUPS !== 'core';

/** All rows of a table, or in `npm test` some of them, evenly spread. */
export function sampleOf<T>(rows: readonly T[], count: number): T[] {
  if (isFull || rows.length <= count) return [...rows];
  return Array.from({ length: count }, (_, at) => rows[Math.floor((at * rows.length) / count)]!);
}

/** How many generated cases are tried: a part of them in `npm test`. */
export const casesOf = (all: number, part = 1 / 10): number => (isFull ? all : Math.ceil(all * part));
