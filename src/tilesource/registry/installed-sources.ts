import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { definitionFault } from './definition-fault.js';
import type { TileSourceDefinition } from '../tile-source.js';

/** The members of a package's `plugin.json` that {@link findTileSources} reads. */
interface PluginDescription {
  extends?: unknown;
  tileSources?: unknown;
}

/**
 * Finds the tile sources of installed packages, in the `node_modules` folders at and above a path. The `plugin.json` of a package
 * must say `"extends": "express-large-image"`, and name under `tileSources` a module that exports a list `tileSources`. A package
 * that cannot be loaded is left out, and the reason is logged.
 *
 * @param from a folder, or `import.meta.url` of a module.
 */
export async function findTileSources(
  from: string,
  { logger }: { logger?: { warn(fields: object, event: string): void } } = {},
): Promise<TileSourceDefinition[]> {
  const sources = new Map<string, TileSourceDefinition>();
  const startFolder = from.startsWith('file:') ? dirname(fileURLToPath(from)) : from;
  for (const folder of await packagesAbove(startFolder)) {
    const description = await readDescription(folder);
    if (description?.extends !== 'express-large-image' || typeof description.tileSources !== 'string') continue;
    try {
      const path = join(folder, description.tileSources);
      const { tileSources } = (await import(pathToFileURL(path).href)) as { tileSources?: unknown };
      if (!Array.isArray(tileSources)) throw new TypeError(`${description.tileSources} exports no list "tileSources"`);
      for (const source of tileSources as unknown[]) {
        const fault = definitionFault(source);
        if (fault !== null) throw new TypeError(fault);
        const definition = source as TileSourceDefinition;
        // If several folders contain a package, modules import the nearest one, which comes first here.
        if (!sources.has(definition.name)) sources.set(definition.name, definition);
      }
    } catch (err) {
      logger?.warn({ err, folder }, 'TileSource:Package:Failed');
    }
  }
  return [...sources.values()];
}

/** Reads the `plugin.json` of a package; `null` if there is none. */
async function readDescription(folder: string): Promise<PluginDescription | null> {
  try {
    const parsed: unknown = JSON.parse(await readFile(join(folder, 'plugin.json'), 'utf8'));
    return typeof parsed === 'object' && parsed !== null ? parsed : null;
  } catch {
    // Most packages have no `plugin.json`. Invalid files of this name belong to other systems.
    return null;
  }
}

/** Folders of the packages that modules in a folder can import, the nearest first. */
async function packagesAbove(startFolder: string): Promise<string[]> {
  const folders: string[] = [];
  for (let folder = startFolder; ; folder = dirname(folder)) {
    const modulesFolder = join(folder, 'node_modules');
    for (const name of await listNames(modulesFolder)) {
      if (!name.startsWith('@')) folders.push(join(modulesFolder, name));
      else for (const scoped of await listNames(join(modulesFolder, name))) folders.push(join(modulesFolder, name, scoped));
    }
    if (dirname(folder) === folder) return folders;
  }
}

/** The sorted names in a folder, without hidden ones. Empty if the folder does not exist. */
async function listNames(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
  } catch {
    return [];
  }
}
