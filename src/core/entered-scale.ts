/** The size of a pixel that a user has entered, in millimeters. */
export interface EnteredScale {
  mmX: number;
  mmY: number;
}

/** The suffix that makes the name of an image change with its pixel size; empty if no size was entered. */
export function scaleSuffix(scale: EnteredScale | null | undefined): string {
  return scale ? `:${scale.mmX}x${scale.mmY}` : '';
}
