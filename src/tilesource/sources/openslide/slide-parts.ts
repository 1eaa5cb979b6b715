import { TileSourceError } from '../../../errors.js';
import type { SourceInput } from '../../tile-source.js';
import { missingPartsError } from '../../registry/missing-parts.js';

/** Maximum number of files of a slide. */
const maxParts = 5000;
/** Maximum number of bytes of the text file that lists the files of a slide. */
const maxTextBytes = 2 ** 20;

/** A file of a slide, other than the opened file. */
export interface SlidePart {
  /** The file's name, without folders. */
  name: string;
  input: SourceInput;
}

/** The last segment of a path; `null` for an invalid name. */
export function fileNameOf(name: string): string | null {
  const fileName = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  return fileName === '' || fileName === '.' || fileName === '..' || fileName.includes('\0') || fileName.length > 255
    ? null
    : fileName;
}

/** Parses lines `name=value`. The names are converted to lower case. */
function parseNamedValues(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf('=');
    if (at > 0) values.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim());
  }
  return values;
}

async function readText(input: SourceInput): Promise<string> {
  const reader = await input.open();
  try {
    if (reader.size > maxTextBytes)
      throw new TileSourceError(`${input.name} has ${reader.size} bytes; at most ${maxTextBytes} are supported.`);
    return Buffer.from(await reader.read(0, reader.size)).toString('latin1');
  } finally {
    await reader.close();
  }
}

/** The names of the files that a Hamamatsu slide requires, and the names of its optional files. */
function hamamatsuNames(text: string): { required: string[]; optional: string[] } {
  const required: string[] = [];
  const optional: string[] = [];
  for (const [name, value] of parseNamedValues(text)) {
    if (value === '') continue;
    if (name.startsWith('imagefile') || name === 'mapfile' || name === 'macroimage') required.push(value);
    else if (name.endsWith('file') || name.endsWith('image')) optional.push(value);
  }
  return { required, optional };
}

/** The names of the files that a MIRAX slide requires, from its Slidedat.ini. */
function miraxNames(text: string): string[] {
  const values = parseNamedValues(text);
  const count = Number(values.get('file_count') ?? 0);
  const names = [values.get('indexfile') ?? ''];
  for (let i = 0; i < Math.min(Number.isInteger(count) ? count : 0, maxParts); i++) names.push(values.get(`file_${i}`) ?? '');
  return names.filter((name) => name !== '');
}

/** Finds the files of a slide, first among the files of its item, then in its folder. */
class PartFinder {
  readonly partsByName = new Map<string, SlidePart>();
  readonly missingPaths: string[] = [];

  private constructor(
    private readonly input: SourceInput,
    /** The path of the files within the folder, empty or with a slash at its end. */
    private readonly folder: string,
  ) {}

  static async create(input: SourceInput, folder: string): Promise<PartFinder> {
    const finder = new PartFinder(input, folder);
    for (const companion of ((await input.companions?.()) ?? []).slice(0, maxParts)) {
      const name = fileNameOf(companion.name);
      // When two files have the same name, the first is used.
      if (name !== null && !finder.partsByName.has(name)) finder.partsByName.set(name, { name, input: companion });
    }
    return finder;
  }

  /**
   * Finds a file by the path by which another file of the slide refers to it. The path of a missing required file is added to
   * `missingPaths`.
   */
  async find(path: string, isRequired: boolean): Promise<SlidePart | null> {
    const name = fileNameOf(path);
    if (name === null) throw new TileSourceError(`The slide refers to an invalid file name: "${path.slice(0, 200)}".`);
    const knownPart = this.partsByName.get(name);
    if (knownPart !== undefined) return knownPart;
    const input = await this.input.folder?.().file(this.folder + name);
    if (input == null) {
      if (isRequired) this.missingPaths.push(this.folder + name);
      return null;
    }
    const part = { name, input };
    this.partsByName.set(name, part);
    return part;
  }
}

/**
 * Finds the files that belong to a slide, in its item or its folder.
 *
 * @throws MissingPartsError if required files are missing.
 */
export async function findSlideParts(input: SourceInput, name: string): Promise<readonly SlidePart[]> {
  const mirax = /^(.*)\.mrxs$/i.exec(name);
  const finder = await PartFinder.create(input, mirax === null ? '' : `${mirax[1]!}/`);
  if (mirax !== null) {
    const slidedat = await finder.find('Slidedat.ini', true);
    for (const each of slidedat === null ? [] : miraxNames(await readText(slidedat.input))) await finder.find(each, true);
  } else if (/\.vm[su]$/i.test(name)) {
    const { required, optional: optionalNames } = hamamatsuNames(await readText(input));
    if (required.length + optionalNames.length > maxParts)
      throw new TileSourceError(`The slide refers to more than ${maxParts} files.`);
    for (const each of required) await finder.find(each, true);
    for (const each of optionalNames) await finder.find(each, false);
  }
  if (finder.missingPaths.length > 0) throw missingPartsError('Files of the slide are missing', finder.missingPaths);
  return [...finder.partsByName.values()];
}

/** Whether the file at `path` in the folder may belong to the slide with this name. */
export function mayHoldPart(name: string, path: string): boolean {
  const mirax = /^(.*)\.mrxs$/i.exec(name);
  if (mirax !== null) return path.startsWith(`${mirax[1]!}/`);
  return /\.vm[su]$/i.test(name) && !path.includes('/');
}
