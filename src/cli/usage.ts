import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Thrown for an invalid command line. The program prints its message. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** The absolute path of an existing file. @throws CommandError if there is no such file. */
export async function resolveExistingFile(path: string): Promise<string> {
  const absolutePath = resolve(path);
  const entry = await stat(absolutePath).catch(() => null);
  if (entry === null) throw new CommandError(`There is no file ${path}`);
  if (!entry.isFile()) throw new CommandError(`${path} is not a file.`);
  return absolutePath;
}
