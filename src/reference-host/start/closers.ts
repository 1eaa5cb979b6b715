/** What must be undone at the end, last things first. */
export class Closers {
  private readonly steps: { name: string; close: () => Promise<void> | void }[] = [];
  private closing: Promise<void> | null = null;

  /** `failed` is told which step failed; the others are done all the same. */
  constructor(private readonly failed: (name: string, error: unknown) => void) {}

  /** Adds a step; it is done at once if the end has come already. */
  async add(name: string, close: () => Promise<void> | void): Promise<void> {
    this.steps.push({ name, close });
    if (this.closing !== null) {
      await this.closing;
      await this.run();
    }
  }

  /** Undoes everything; called again it waits for the same end. */
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
