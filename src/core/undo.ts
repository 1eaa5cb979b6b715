import type { HostLogger } from '../host.js';

/** Takes a step that ends something which has just been begun. */
export type OnClose = (step: () => unknown) => void;

/** What ends an installation: the steps of its making backwards. One that fails is logged and keeps no other from being done. */
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
