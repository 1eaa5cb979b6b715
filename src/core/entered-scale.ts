/** The size of a pixel that a user has entered, in millimeters. */
export interface EnteredScale {
  mmX: number;
  mmY: number;
}

/** The size of a pixel as a part of a name that changes with it; empty if there is none. */
export function scaleName(scale: EnteredScale | null | undefined): string {
  return scale ? `:${scale.mmX}x${scale.mmY}` : '';
}
