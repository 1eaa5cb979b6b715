import { lookup } from 'mime-types';

const unknownType = 'application/octet-stream';

/** Names of types that existing clients expect. */
const types: Readonly<Record<string, string>> = { geojson: 'application/vnd.geo+json' };

/** The type of a new file: the given one, or that of its extension if none or an unspecific one is given. */
export function typeOfNewFile(name: string, declared: string | undefined): string {
  if (declared && declared !== unknownType) return declared;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return (Object.hasOwn(types, ending) ? types[ending] : ending !== '' && lookup(ending)) || unknownType;
}
