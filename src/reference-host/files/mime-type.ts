import { lookup } from 'mime-types';

const unknownType = 'application/octet-stream';

/** Names of types that existing clients expect. */
const types: Readonly<Record<string, string>> = { geojson: 'application/vnd.geo+json' };

/** The type of a new file: the requested type, or the type of its extension if no specific type was requested. */
export function typeOfNewFile(name: string, declared: string | undefined): string {
  if (declared && declared !== unknownType) return declared;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return (Object.hasOwn(types, ending) ? types[ending] : ending !== '' && lookup(ending)) || unknownType;
}
