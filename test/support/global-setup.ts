import type { TestProject } from 'vitest/node';
import { startDatabase } from '../../src/reference-host/database/start-database.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connection string of the server of this run, or why there is none. */
    database: { uri: string } | { failure: string };
  }
}

/** One database server per run; each test file takes a database of its own on it (`support/database.ts`). */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const database = await startDatabase({
      env: process.env,
      directory: null,
      report: ({ text }) => console.log(text),
    });
    console.log(`database: ${database.engine} at ${database.address}`);
    project.provide('database', { uri: database.uri });
    return () => database.stop();
  } catch (error) {
    // Tests that need no database run all the same; those that do fail with this message.
    project.provide('database', { failure: error instanceof Error ? error.message : String(error) });
    return () => Promise.resolve();
  }
}
