import { lookup } from 'mime-types';

const unknownType = 'application/octet-stream';

/** What existing clients call these types. */
const known: Readonly<Record<string, string>> = { geojson: 'application/vnd.geo+json' };

/** The type of a new file: as given, or by the ending of its name where nothing particular was given. */
export function typeOfNewFile(name: string, given: string | undefined): string {
  if (given && given !== unknownType) return given;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return (Object.hasOwn(known, ending) ? known[ending] : ending !== '' && lookup(ending)) || unknownType;
}
