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

const ownPrefix = 'large_image.';

/** The name under which the mission knows a setting of the plugin: `large_image.show_viewer` is `LARGE_IMAGE_SHOW_VIEWER`; `null` for others. */
export function constantName(key: string): string | null {
  return key.startsWith(ownPrefix) ? `LARGE_IMAGE_${key.slice(ownPrefix.length).toUpperCase()}` : null;
}
