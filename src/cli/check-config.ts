import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { extname } from 'node:path';
import { decodeUtf8, validateConfig } from '../configuration-text/validate.js';
import { readSettings } from '../configuration-text/read-settings.js';
import { parseYaml } from '../core/yaml.js';
import { LargeImageError } from '../errors.js';
import { resolveExistingFile } from './usage.js';

/**
 * Checks a configuration file (INI) or the YAML configuration of a folder. Returns a line for each problem.
 */
export async function checkConfig(path: string): Promise<string[]> {
  const bytes = await readFile(await resolveExistingFile(path));
  try {
    const text = decodeUtf8(bytes);
    if (['.yaml', '.yml'].includes(extname(path).toLowerCase())) {
      parseYaml(text, path);
      return [];
    }
    const problems = validateConfig(text).map(({ line, message }) => `${path}:${line + 1}: ${message}`);
    if (problems.length > 0) return problems;
    // `source` names the place of a problem. It ends with the line number, counted from 0.
    readSettings({
      config: text,
      env: {},
      totalMemoryBytes: totalmem(),
      onProblem: ({ source, message }) => problems.push(`${path}:${Number(source.split(/\D/).at(-1) ?? 0) + 1}: ${message}`),
    });
    return problems;
  } catch (error) {
    if (error instanceof LargeImageError) return [`${path}: ${error.message}`];
    throw error;
  }
}
