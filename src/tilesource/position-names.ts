/**
 * Trims the names of positions along axis XY. A position without a name stays `undefined`. If several positions have the same name,
 * their numbers, from 1, are added.
 */
export function positionNames(names: readonly (string | undefined)[]): (string | undefined)[] {
  const trimmed = names.map((name) => name?.trim());
  const counts = new Map<string | undefined, number>();
  for (const name of trimmed) counts.set(name, (counts.get(name) ?? 0) + 1);
  return trimmed.map((name, index) => ((counts.get(name) as number) > 1 && name ? `${name} (${index + 1})` : name || undefined));
}
