/**
 * Trims the names of positions along axis XY. A position without a name stays `undefined`. If several positions have the same name,
 * their numbers, from 1, are added.
 */
export function positionNames(names: readonly (string | undefined)[]): (string | undefined)[] {
  const trimmedNames = names.map((name) => name?.trim());
  const countByName = new Map<string | undefined, number>();
  for (const name of trimmedNames) countByName.set(name, (countByName.get(name) ?? 0) + 1);
  return trimmedNames.map((name, index) =>
    (countByName.get(name) as number) > 1 && name ? `${name} (${index + 1})` : name || undefined,
  );
}
