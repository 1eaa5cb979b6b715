import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The file that a worker thread or a child process runs, and what Node needs to run it. */
export interface Program {
  filename: string;
  execArgv: string[];
}

/**
 * Finds the program of a thread or process: a TypeScript file in the sources, a separate JavaScript file in the built package.
 *
 * @param callerUrl the `import.meta.url` of the calling module.
 * @param source path of the program from that module, such as `./thread.ts`.
 * @param built name of the entry in tsup.config.ts, without extension.
 */
export function findProgram(callerUrl: string, { source, built }: { source: string; built: string }): Program {
  if (!callerUrl.endsWith('.ts')) return { filename: fileURLToPath(new URL(`./${built}.js`, callerUrl)), execArgv: [] };
  const tsx = pathToFileURL(createRequire(callerUrl).resolve('tsx')).href;
  return { filename: fileURLToPath(new URL(source, callerUrl)), execArgv: ['--import', tsx] };
}
