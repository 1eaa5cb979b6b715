/** Steps to run at the end, the last added first. */
export class Closers {
  private readonly steps: { name: string; close: () => Promise<void> | void }[] = [];
  private closing: Promise<void> | null = null;

  /** `failed` is called with each step that fails. The other steps are run anyway. */
  constructor(private readonly failed: (name: string, error: unknown) => void) {}

  /** Adds a step. It is run immediately if the end has already come. */
  async add(name: string, close: () => Promise<void> | void): Promise<void> {
    this.steps.push({ name, close });
    if (this.closing !== null) {
      await this.closing;
      await this.run();
    }
  }

  /** Runs all steps. A second call waits for the same end. */
  close(): Promise<void> {
    this.closing ??= this.run();
    return this.closing;
  }

  private async run(): Promise<void> {
    for (let step = this.steps.pop(); step !== undefined; step = this.steps.pop()) {
      try {
        await step.close();
      } catch (error) {
        this.failed(step.name, error);
      }
    }
  }
}
