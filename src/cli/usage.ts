import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** An invalid command line. The message is printed on the terminal. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** The absolute path of an existing file. @throws CommandError if there is no such file. */
export async function existingFile(path: string): Promise<string> {
  const absolute = resolve(path);
  const entry = await stat(absolute).catch(() => null);
  if (entry === null) throw new CommandError(`There is no file ${path}`);
  if (!entry.isFile()) throw new CommandError(`${path} is not a file.`);
  return absolute;
}
