import type { HostLogger } from '../host.js';

/** Adds a step that undoes, when the installation closes, what was just done. */
export type OnClose = (step: () => unknown) => void;

/** Steps that undo what was done, in reverse order. If a step fails, this is logged, and the others still run. */
export class UndoSteps {
  readonly #steps: (() => unknown)[] = [];

  constructor(private readonly logger: HostLogger) {}

  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  async run(): Promise<void> {
    for (const step of this.#steps.splice(0).toReversed()) {
      try {
        await step();
      } catch (err) {
        this.logger.warn({ err }, 'Installation:Close:Failed');
      }
    }
  }
}
