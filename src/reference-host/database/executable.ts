import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of a program on `PATH`, or `null`. */
export function findExecutable(env: Readonly<Record<string, string | undefined>>, name: string): string | null {
  // Windows spells the variable `Path`, and adds an extension to the names of programs.
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  const extensions = delimiter === ';' ? (env.PATHEXT ?? '.EXE;.CMD;.BAT').split(';') : [''];
  for (const folder of folders) {
    for (const extension of extensions) {
      const path = join(folder, name + extension);
      try {
        accessSync(path, constants.X_OK);
        if (statSync(path).isFile()) return path;
      } catch {
        // The program is not in this folder.
      }
    }
  }
  return null;
}
