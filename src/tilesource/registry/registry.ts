import { RE2JS } from 're2js';
import { LargeImageError, MissingPartsError, OtherFormatError, TileSourceError } from '../../errors.js';
import { checkSource } from './checked-source.js';
import {
  priorities,
  type Priority,
  type SourceInput,
  type SourceOptions,
  type TileSource,
  type TileSourceDefinition,
} from '../tile-source.js';

/** Name and mime type of a file, which determine in which order sources try to open the file. */
export type FileIdentity = Pick<SourceInput, 'name' | 'mimeType'>;

/** An opened file and the source that reads it. */
export interface OpenedSource {
  /** Name of the source. */
  name: string;
  source: TileSource;
}

/** A source as listed by `GET large_image/sources`. */
export interface SourceListing {
  extensions: Record<string, number>;
  mimeTypes: Record<string, number>;
  version?: string;
}

/** Options of a registry. */
export interface RegistryOptions {
  /**
   * Regular expression, ignoring case. A file whose name matches is only tried by sources that list its extension, mime type or
   * name.
   */
  ignoredNames?: string;
  /** For sources, by name: a regular expression, ignoring case, that matches the names of files that the source does not open. */
  sourceIgnoredNames?: Readonly<Record<string, string>>;
  /** Logs sources that fail with unexpected errors. */
  logger?: { warn(fields: object, event: string): void };
}

/** A source that may read a file, and its priority. */
interface Candidate {
  definition: TileSourceDefinition;
  priority: Priority;
  /**
   * Whether the source lists neither the extension, the mime type nor the name of the file, so that its default priority applies.
   */
  isFallback: boolean;
}

const defaultIgnoredNames = /(\.mrxs|\.vsi)$/i;

/**
 * Whether a configured expression matches a name. For every expression, this takes time in proportion to the length of the name.
 */
function matchesName(name: string, expression: string): boolean {
  // The default expression is known to be harmless, and nearly every server uses it.
  if (expression === defaultIgnoredNames.source) return defaultIgnoredNames.test(name);
  return RE2JS.compile(expression, RE2JS.CASE_INSENSITIVE).matcher(name).find();
}

/** A list of sources that try to open files. A registry is immutable: `register` returns a new one. */
export class TileSourceRegistry {
  readonly #definitions: ReadonlyMap<string, TileSourceDefinition>;
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions = {}, definitions: readonly TileSourceDefinition[] = []) {
    this.#definitions = new Map(definitions.map((definition) => [definition.name, definition]));
    this.#options = options;
  }

  /** Returns a registry that also has these sources. A source replaces an existing one with the same name. */
  register(...definitions: TileSourceDefinition[]): TileSourceRegistry {
    return new TileSourceRegistry(this.#options, [...this.#definitions.values(), ...definitions]);
  }

  /** The source with this name. */
  get(name: string): TileSourceDefinition | undefined {
    return this.#definitions.get(name);
  }

  /** Sources whose images can include other files of their folder, by name. */
  sourcesThatReadFolders(): ReadonlyMap<string, TileSourceDefinition> {
    return new Map([...this.#definitions].filter(([, { readsFolder }]) => readsFolder !== undefined));
  }

  /** Name of the source that reads the files that conversions write. */
  get readerOfConversions(): string {
    const reader = [...this.#definitions.values()].find(({ readsConversions }) => readsConversions);
    if (reader === undefined) throw new Error('No tile source reads the files that conversions write.');
    return reader.name;
  }

  /** Whether a file that no source opens is an intact image that is only too large for the sources. */
  async isOnlyTooLarge(input: SourceInput, temporaryDirectory: string): Promise<boolean> {
    for (const definition of this.#definitions.values()) {
      if (await definition.isOnlyTooLarge?.(input, temporaryDirectory)) return true;
    }
    return false;
  }

  /** All sources, as in the response to `GET large_image/sources`. */
  list(): Record<string, SourceListing> {
    const definitions = [...this.#definitions.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return Object.fromEntries(
      definitions.map(({ name, extensions, mimeTypes, version }) => [
        name,
        { extensions: { ...extensions }, mimeTypes: { ...mimeTypes }, ...(version !== undefined && { version }) },
      ]),
    );
  }

  /** Whether a source lists the file's mime type, its complete name, or one of its last two extensions. */
  knows(file: FileIdentity): boolean {
    const extensions = extensionsOf(file.name).slice(-2);
    const mimeType = plainMimeType(file.mimeType);
    return [...this.#definitions.values()].some(
      (source) =>
        extensions.some((extension) => isListed(source.extensions, extension)) ||
        (source.fileNames !== undefined && Object.hasOwn(source.fileNames, baseName(file.name))) ||
        (mimeType !== undefined && isListed(source.mimeTypes, mimeType)),
    );
  }

  /** Sources that may read a file, in the order in which they are tried. */
  candidates(file: FileIdentity): TileSourceDefinition[] {
    const isIgnored = matchesName(file.name, this.#options.ignoredNames ?? defaultIgnoredNames.source);
    return [...this.#definitions.values()]
      .map((definition) => rateSource(definition, file))
      .filter(({ priority, isFallback }) => priority < priorities.manual && !(isFallback && isIgnored))
      .sort(
        (a, b) =>
          Number(a.isFallback) - Number(b.isFallback) ||
          a.priority - b.priority ||
          (a.definition.name < b.definition.name ? -1 : 1),
      )
      .map(({ definition }) => definition);
  }

  /**
   * Opens a file with the first source that can read it, or with the source named `sourceName`.
   *
   * @throws TileSourceError that says what is wrong with the file. Its cause says why each source refused the file.
   */
  async open(input: SourceInput, options: SourceOptions & { sourceName?: string } = {}): Promise<OpenedSource> {
    const { sourceName, ...sourceOptions } = options;
    const requestedSource = sourceName === undefined ? undefined : this.get(sourceName);
    if (sourceName !== undefined && !requestedSource) {
      const names = [...this.#definitions.keys()].join(', ') || 'none';
      throw new TileSourceError(`No tile source "${sourceName}" is registered; registered are: ${names}.`);
    }
    const causes: TileSourceError[] = [];
    for (const definition of requestedSource ? [requestedSource] : this.candidates(input)) {
      options.signal?.throwIfAborted();
      try {
        if (!requestedSource && this.#ignores(definition, input.name)) {
          throw new OtherFormatError(`File will not be opened by ${definition.name} reader`);
        }
        return {
          name: definition.name,
          source: checkSource(definition.name, await definition.open(input, sourceOptions)),
        };
      } catch (error) {
        options.signal?.throwIfAborted();
        const outage = findOutage(error);
        if (outage !== null) throw outage;
        causes.push(this.#toTileSourceError(definition, input, error));
      }
    }
    const missingPaths = causes.flatMap((cause) => (cause instanceof MissingPartsError ? cause.missing : []));
    const clearestCause =
      causes.find((cause) => cause instanceof MissingPartsError) ??
      causes.find((cause) => !(cause instanceof OtherFormatError)) ??
      (requestedSource ? causes[0] : undefined);
    const reason = clearestCause?.reason ?? 'It is in none of the supported formats.';
    const message = `${input.name} cannot be read. ${reason}`;
    const details = { cause: causes.length > 1 ? new AggregateError(causes) : causes[0], reason };
    throw missingPaths.length > 0 ? new MissingPartsError(message, missingPaths, details) : new TileSourceError(message, details);
  }

  #ignores({ name, ignoredNames }: TileSourceDefinition, fileName: string): boolean {
    const { sourceIgnoredNames = {} } = this.#options;
    const configuredPattern = Object.hasOwn(sourceIgnoredNames, name) ? sourceIgnoredNames[name] : undefined;
    return configuredPattern === undefined ? ignoredNames?.test(fileName) === true : matchesName(fileName, configuredPattern);
  }

  /** Converts a failure to an error for clients. Unexpected errors are logged. */
  #toTileSourceError(definition: TileSourceDefinition, input: SourceInput, error: unknown): TileSourceError {
    if (error instanceof TileSourceError) return error;
    this.#options.logger?.warn({ sourceName: definition.name, file: input.name, error }, 'TileSource:Open:Crashed');
    return new TileSourceError(`The reader ${definition.name} failed unexpectedly.`, { cause: error });
  }
}

/**
 * Searches an error and its causes for an error that only means that the file cannot be read at the moment. Returns `null` if there
 * is none.
 */
function findOutage(error: unknown): LargeImageError | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if (cause instanceof LargeImageError && ['unavailable', 'busy', 'storage-full'].includes(cause.code)) return cause;
  }
  return null;
}

function isListed(table: Readonly<Record<string, Priority>>, key: string): boolean {
  return key !== 'default' && Object.hasOwn(table, key);
}

/** Extensions of a name, in lower case, without the text after a blank: for `a.ome.tif`, `ome` and `tif`. */
function extensionsOf(name: string): string[] {
  return name
    .split('.')
    .slice(1)
    .map((part) => (part.split(' ')[0] ?? '').toLowerCase())
    .filter((part) => part !== '');
}

/** Name of a file without folders, in lower case. */
function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase();
}

function plainMimeType(mimeType: string | undefined): string | undefined {
  return mimeType?.split(';')[0]?.trim().toLowerCase();
}

/** Determines the priority of a source for a file: the lowest number of all matching entries. */
function rateSource(definition: TileSourceDefinition, file: FileIdentity): Candidate {
  const matchingPriorities: Priority[] = [];
  for (const extension of extensionsOf(file.name)) {
    const priority = isListed(definition.extensions, extension) ? definition.extensions[extension] : undefined;
    if (priority !== undefined) matchingPriorities.push(priority);
  }
  const mimeType = plainMimeType(file.mimeType);
  const priorityOfType =
    mimeType !== undefined && isListed(definition.mimeTypes, mimeType) ? definition.mimeTypes[mimeType] : undefined;
  if (priorityOfType !== undefined) matchingPriorities.push(priorityOfType);
  const priorityOfName = definition.fileNames?.[baseName(file.name)];
  if (priorityOfName !== undefined) matchingPriorities.push(priorityOfName);
  const { default: defaultPriority } = definition.extensions;
  const priority = matchingPriorities.reduce((lowest, entry) => (entry < lowest ? entry : lowest), defaultPriority);
  return { definition, priority, isFallback: matchingPriorities.length === 0 };
}
