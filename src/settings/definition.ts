/** One setting: its name, what it may hold, and what holds when nobody set it. */
export interface SettingDefinition<T = unknown> {
  /** Dotted key, as on the wire. */
  key: string;
  default: T;
  /** Whether GET large_image/settings shows it to everybody. */
  public: boolean;
  /** One sentence for the documentation. */
  description: string;
  /** What may be written, in words, for the documentation. */
  allowed: string;
  /**
   * Checks a value and brings it into the form that is stored.
   *
   * @throws InvalidError with field `value` when it is not allowed.
   */
  parse(value: unknown): T | Promise<T>;
}
