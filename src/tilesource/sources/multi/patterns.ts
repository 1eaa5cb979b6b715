import { RE2JS, type RE2JSException } from 're2js';
import { TileSourceError } from '../../../errors.js';
import { maxSources } from './description.js';

/** Patterns, and the names of files that they may fit. */
export interface PatternSearch {
  /** Names by folder. */
  folders: readonly (readonly string[])[];
  /** Each with the number of the folder that it searches. */
  patterns: readonly { pattern: string; folder: number }[];
}

/** A name that a pattern fits: its number in the folder, and what the named groups have found. */
export interface FittingName {
  name: number;
  groups: Readonly<Record<string, string | null>>;
}

/**
 * The names that each pattern fits. A pattern of a thousand characters takes a third of a second to compile: this is work for a thread.
 *
 * @throws TileSourceError for a pattern that cannot be used, and where more names fit than an image may have sources.
 */
export function fittingNames({ folders, patterns }: PatternSearch): FittingName[][] {
  let count = 0;
  return patterns.map(({ pattern, folder }) => {
    const compiled = compile(pattern);
    const groups = Object.keys(compiled.namedGroups());
    const found: FittingName[] = [];
    for (const [name, text] of folders[folder]!.entries()) {
      const matcher = compiled.matcher(text);
      if (!matcher.find()) continue;
      count += 1;
      if (count > maxSources) {
        throw new TileSourceError(
          `More than ${maxSources} files fit the pathPattern "${pattern.slice(0, 200)}" and those before it.`,
        );
      }
      found.push({ name, groups: Object.fromEntries(groups.map((group) => [group, matcher.group(group)])) });
    }
    return found;
  });
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    const reason = (cause as RE2JSException).message;
    throw new TileSourceError(`The pathPattern "${pattern.slice(0, 200)}" cannot be used: ${reason.slice(0, 200)}.`, { cause });
  }
}
