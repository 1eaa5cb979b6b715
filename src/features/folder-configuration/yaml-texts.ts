import { ThreadPool } from '../../core/concurrency/thread-pool.js';
import { programOf } from '../../core/concurrency/program.js';
import { BadParameterError, LargeImageError } from '../../errors.js';
import type { Layer, Outcome, YamlFunctions } from './yaml-thread.js';

const timeoutMs = 20_000;
const memoryMiB = 512;

type Input<Name extends keyof YamlFunctions> = Parameters<YamlFunctions[Name]>[0];

/** Reads and joins YAML texts in a thread: ten bytes may stand for as many as one likes. Mappings stay JSON texts on this side. */
export class YamlTexts {
  readonly #threads = new ThreadPool<YamlFunctions>({
    program: programOf(import.meta.url, { source: './yaml-thread.ts', built: 'yaml-thread' }),
    name: 'configurations of folders',
    timeoutMs,
    memoryMiB,
  });

  /** Whether a text is a mapping or nothing. @throws BadParameterError for broken YAML. */
  async isMapping(input: Input<'check'>, signal?: AbortSignal): Promise<boolean> {
    return resultOf(await this.#threads.run('check', input, { what: input.name, signal })).isMapping;
  }

  /** One more text, personalised and joined with what holds nearer by. @throws BadParameterError for broken YAML. */
  async join(input: Input<'join'>, signal?: AbortSignal): Promise<Layer> {
    return resultOf(await this.#threads.run('join', input, { what: input.name, signal }));
  }

  /** A JSON text with defaults below it. */
  complete(input: Input<'complete'>, signal?: AbortSignal): Promise<string> {
    return this.#threads.run('complete', input, { what: 'The configuration', signal });
  }

  /** A stored text with what one user gave. @throws LargeImageError `conflict` when it has no room for that. */
  async addForUser(input: Input<'addForUser'>, signal?: AbortSignal): Promise<string> {
    const added = await this.#threads.run('addForUser', input, { what: input.name, signal });
    if ('conflict' in added) throw new LargeImageError('conflict', added.conflict);
    return added.text;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ('refused' in outcome) throw new BadParameterError(outcome.refused);
  return outcome.result;
}
