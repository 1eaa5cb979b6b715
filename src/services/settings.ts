import { InvalidError } from '../errors.js';
import type { SettingDefinition } from '../settings/definition.js';

/** Where values are kept. */
export interface SettingRecords {
  all(): Promise<Map<string, unknown>>;
  set(key: string, value: unknown): Promise<void>;
  unset(key: string): Promise<void>;
}

/** How long values are used before they are read again, in milliseconds: changes by another process are seen after this time. */
const maxAgeMs = 5000;

type ChangeListener = (change: { key: string; value: unknown; former: unknown }) => void | Promise<void>;

/** The settings of the plugin and, with the host's definitions added, of the host: checked when written, cached when read. */
export class Settings {
  readonly #definitions = new Map<string, SettingDefinition>();
  readonly #listeners = new Set<ChangeListener>();
  #loaded: { at: number; values: Promise<Map<string, unknown>> } | null = null;

  constructor(
    private readonly records: SettingRecords,
    definitions: readonly SettingDefinition[],
  ) {
    for (const definition of definitions) this.#definitions.set(definition.key, definition);
  }

  /** All definitions, in the order in which they were given. */
  get definitions(): readonly SettingDefinition[] {
    return [...this.#definitions.values()];
  }

  /** The value of a setting, or its default; `null` for a key that nobody defined. */
  async get(key: string): Promise<unknown> {
    const definition = this.#definitions.get(key);
    if (definition === undefined) return null;
    const value = (await this.#values()).get(key);
    return value === undefined || value === null ? (definition.default ?? null) : value;
  }

  /**
   * Checks and stores a value; `null` goes back to the default.
   *
   * @returns whether the value is another than before.
   * @throws InvalidError with field `key` for an unknown key, with field `value` for a value that is not allowed.
   */
  async set(key: string, value: unknown): Promise<boolean> {
    const definition = this.#definition(key);
    const parsed = value === null || value === undefined ? null : await definition.parse(value);
    const former = await this.get(key);
    if (parsed === null) await this.records.unset(key);
    else await this.records.set(key, parsed);
    this.#loaded = null;
    const now = parsed ?? definition.default ?? null;
    if (JSON.stringify(now) === JSON.stringify(former)) return false;
    for (const listener of this.#listeners) await listener({ key, value: now, former });
    return true;
  }

  /** Goes back to the default. */
  async unset(key: string): Promise<boolean> {
    return this.set(key, null);
  }

  /** Calls `listener` after each change made in this process, until the returned function is called. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #definition(key: string): SettingDefinition {
    const definition = this.#definitions.get(key);
    if (definition === undefined) throw new InvalidError(`Invalid setting key "${key}".`, 'key');
    return definition;
  }

  #values(): Promise<Map<string, unknown>> {
    const now = Date.now();
    if (this.#loaded === null || now - this.#loaded.at > maxAgeMs) {
      const loading = { at: now, values: this.records.all() };
      this.#loaded = loading;
      loading.values.catch(() => {
        if (this.#loaded === loading) this.#loaded = null;
      });
    }
    return this.#loaded.values;
  }
}
