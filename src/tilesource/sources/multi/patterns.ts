import { RE2JS, type RE2JSException } from 're2js';
import { TileSourceError } from '../../../errors.js';
import { maxSources } from './multi-description.js';

/** Patterns, and the names of files to match. */
export interface PatternSearch {
  /** The file names of each folder. */
  folders: readonly (readonly string[])[];
  /** Each pattern, and the index of the folder whose file names are compared with the pattern. */
  patterns: readonly { pattern: string; folderIndex: number }[];
}

/** A name that matches a pattern: its index in the folder, and the matches of the named groups. */
export interface MatchingName {
  nameIndex: number;
  groups: Readonly<Record<string, string | null>>;
}

/**
 * Finds the names that match each pattern. Compiling a pattern of a thousand characters takes a third of a second, so this function
 * is called in a thread.
 *
 * @throws TileSourceError for an invalid pattern, and if more names match than an image can have sources.
 */
export function findMatchingNames({ folders, patterns }: PatternSearch): MatchingName[][] {
  let matchCount = 0;
  return patterns.map(({ pattern, folderIndex }) => {
    const expression = compile(pattern);
    const groups = Object.keys(expression.namedGroups());
    const names: MatchingName[] = [];
    for (const [nameIndex, name] of folders[folderIndex]!.entries()) {
      const matcher = expression.matcher(name);
      if (!matcher.find()) continue;
      matchCount += 1;
      if (matchCount > maxSources) {
        throw new TileSourceError(
          `More than ${maxSources} files match the pathPattern "${pattern.slice(0, 200)}" and the patterns before it.`,
        );
      }
      names.push({ nameIndex, groups: Object.fromEntries(groups.map((group) => [group, matcher.group(group)])) });
    }
    return names;
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
