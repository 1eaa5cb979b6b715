import type { HostLogger } from '../host.js';

/** Registers a function that is called when the installation closes. It undoes what the caller has just done. */
export type OnClose = (step: () => unknown) => void;

/** Steps that undo an installation. They run in reverse order. If a step fails, this is logged, and the other steps still run. */
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
