import type { HostLogger } from '../host.js';

/** Adds a step that undoes something that has just been done. */
export type OnClose = (step: () => unknown) => void;

/** Undoes what was done, step by step in reverse order. A step that fails is logged, and the others are still taken. */
export class Undo {
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
