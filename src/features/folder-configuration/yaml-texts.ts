import { ThreadPool } from '../../core/concurrency/thread-pool.js';
import { findProgram } from '../../core/concurrency/program.js';
import { BadParameterError, LargeImageError } from '../../errors.js';
import type { MergedConfiguration, Outcome, YamlFunctions } from './yaml-thread.js';

const timeoutMs = 20_000;
const memoryMiB = 512;

type Input<Name extends keyof YamlFunctions> = Parameters<YamlFunctions[Name]>[0];

/**
 * Parses and merges YAML texts in a thread, because aliases let a short text represent a huge one. Results are returned as JSON
 * texts, which are never parsed on the main thread.
 */
export class YamlTexts {
  readonly #threads = new ThreadPool<YamlFunctions>({
    program: findProgram(import.meta.url, { source: './yaml-thread.ts', built: 'yaml-thread' }),
    name: 'folder configurations',
    timeoutMs,
    memoryMiB,
  });

  /** Tells whether a text is a mapping or empty. @throws BadParameterError for invalid YAML. */
  async checkIsMapping(input: Input<'checkIsMapping'>, signal?: AbortSignal): Promise<boolean> {
    return resultOf(await this.#threads.run('checkIsMapping', input, { inputName: input.name, signal })).isMapping;
  }

  /**
   * Applies the sections for a person in a folder's text, then lets `overridingText`, the merged result of the folders below, override
   * the result.
   *
   * @throws BadParameterError for invalid YAML.
   */
  async mergeLayer(input: Input<'mergeLayer'>, signal?: AbortSignal): Promise<MergedConfiguration> {
    return resultOf(await this.#threads.run('mergeLayer', input, { inputName: input.name, signal }));
  }

  /** Adds defaults for missing members to a JSON text. */
  addDefaults(input: Input<'addDefaults'>, signal?: AbortSignal): Promise<string> {
    return this.#threads.run('addDefaults', input, { inputName: 'The configuration', signal });
  }

  /** Adds a user's text to the user's section of a stored text. @throws LargeImageError `conflict` if the user's text cannot be added. */
  async addForUser(input: Input<'addForUser'>, signal?: AbortSignal): Promise<string> {
    const addition = await this.#threads.run('addForUser', input, { inputName: input.name, signal });
    if ('conflict' in addition) throw new LargeImageError('conflict', addition.conflict);
    return addition.text;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ('refused' in outcome) throw new BadParameterError(outcome.refused);
  return outcome.result;
}
