import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** The command line asks for something that cannot be; the message is for the terminal. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** The absolute path of a file that is there. @throws CommandError */
export async function existingFile(path: string): Promise<string> {
  const found = resolve(path);
  const entry = await stat(found).catch(() => null);
  if (entry === null) throw new CommandError(`There is no file ${path}`);
  if (!entry.isFile()) throw new CommandError(`${path} is no file.`);
  return found;
}
