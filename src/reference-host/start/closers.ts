/** Closes what a program has opened. The step that was added last is run first. */
export class Closers {
  private readonly steps: { name: string; close: () => Promise<void> | void }[] = [];
  private closing: Promise<void> | null = null;

  /** @param onFailure called with the name and the error of each step that fails. The other steps are run anyway. */
  constructor(private readonly onFailure: (name: string, error: unknown) => void) {}

  /** Adds a step. It is run immediately if `close` was called before. */
  async add(name: string, close: () => Promise<void> | void): Promise<void> {
    this.steps.push({ name, close });
    if (this.closing !== null) {
      await this.closing;
      await this.run();
    }
  }

  /** Runs all steps. A second call only waits for them. */
  close(): Promise<void> {
    this.closing ??= this.run();
    return this.closing;
  }

  private async run(): Promise<void> {
    for (let step = this.steps.pop(); step !== undefined; step = this.steps.pop()) {
      try {
        await step.close();
      } catch (error) {
        this.onFailure(step.name, error);
      }
    }
  }
}
