import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/** The path of Chromium, or `null`, after printing the reason, if this machine does not have it. */
export function chromiumPath(): string | null {
  const named = process.env.CHROMIUM_PATH;
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const candidates = named ? [named] : folders.flatMap((folder) => names.map((name) => join(folder, name)));
  const executable = candidates.find(isExecutable);
  if (executable !== undefined) return executable;
  const where = named ? `CHROMIUM_PATH is ${named}, which is no program` : `none of ${names.join(', ')} is on PATH`;
  console.warn(`skipped: a browser is needed, and ${where}; install chromium or set CHROMIUM_PATH`);
  return null;
}

/** Starts the Chromium of {@link chromiumPath}. It has no sandbox if root starts it. */
export function launchChromium(executablePath: string, args: readonly string[] = []): Promise<Browser> {
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args: [...sandbox, ...args] });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
