import { lookup } from 'mime-types';

const unknownType = 'application/octet-stream';

/** Names of types that existing clients expect. */
const known: Readonly<Record<string, string>> = { geojson: 'application/vnd.geo+json' };

/** The type of a new file: the given one, or that of its extension if none or an unspecific one is given. */
export function typeOfNewFile(name: string, given: string | undefined): string {
  if (given && given !== unknownType) return given;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return (Object.hasOwn(known, ending) ? known[ending] : ending !== '' && lookup(ending)) || unknownType;
}
