import type { Schema } from '../../http/schemas.js';

/** One setting: its name, its allowed values, and its default. */
export interface SettingDefinition<T = unknown> {
  /** Dotted key, as in requests. */
  key: string;
  default: T;
  /** Whether GET large_image/settings shows the setting to everyone. */
  public: boolean;
  /** One sentence for the documentation. */
  description: string;
  /** The allowed values in words, for the documentation. */
  allowed: string;
  /**
   * The type of the setting's values as a JSON schema, from which pages make the input. `x-unit` names the unit of a number, and
   * `format: json` means the text of a JSON object.
   */
  schema: Schema;
  /** Checks a value and converts it to the form that is stored. @throws InvalidError with field `value` when it is not allowed. */
  parse(value: unknown): T | Promise<T>;
}

const ownPrefix = 'large_image.';

/**
 * The second name that clients may use for a setting of the plugin, such as `LARGE_IMAGE_SHOW_VIEWER` for `large_image.show_viewer`;
 * `null` for settings of the host.
 */
export function constantName(key: string): string | null {
  return key.startsWith(ownPrefix) ? `LARGE_IMAGE_${key.slice(ownPrefix.length).toUpperCase()}` : null;
}
