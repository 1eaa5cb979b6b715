import { lookup } from 'mime-types';

const unknownType = 'application/octet-stream';

/** Names of types that existing clients expect. */
const typesByExtension: Readonly<Record<string, string>> = { geojson: 'application/vnd.geo+json' };

/** The type of a new file: the requested type, or the type of its extension if no specific type was requested. */
export function typeOfNewFile(name: string, requestedType: string | undefined): string {
  if (requestedType && requestedType !== unknownType) return requestedType;
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return (
    (Object.hasOwn(typesByExtension, extension) ? typesByExtension[extension] : extension !== '' && lookup(extension)) ||
    unknownType
  );
}
