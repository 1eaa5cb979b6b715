import type { TestProject } from 'vitest/node';
import { startDatabase } from '../../../src/reference-host/database/start-database.js';
import { buildTestPrograms } from './built-program.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The connection string of the server of this run, or the reason why there is none. */
    database: { uri: string } | { failure: string };
    /** Folder of the programs that tests start (`programs.ts`). */
    programs: string;
  }
}

/**
 * One database server and one build of the programs per run; each test file has its own database (`support/hosts/database.ts`).
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [stopDatabase, programs] = await Promise.all([provideDatabase(project), buildTestPrograms()]);
  project.provide('programs', programs.folder);
  return async () => {
    await Promise.all([stopDatabase(), programs.remove()]);
  };
}

async function provideDatabase(project: TestProject): Promise<() => Promise<void>> {
  try {
    const database = await startDatabase({
      // Java's optimizing compiler takes longer than it saves here.
      env: { JDK_JAVA_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC', ...process.env },
      directory: null,
      report: ({ text }) => console.log(text),
    });
    console.log(`database: ${database.engine} at ${database.address}`);
    project.provide('database', { uri: database.uri });
    return () => database.stop();
  } catch (error) {
    // Tests that need no database still run; all others fail with this message.
    project.provide('database', { failure: error instanceof Error ? error.message : String(error) });
    return () => Promise.resolve();
  }
}
