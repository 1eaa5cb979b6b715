import { FreshCache } from '../../core/concurrency/fresh-cache.js';
import { InvalidError } from '../../errors.js';
import { constantName, type SettingDefinition } from './definition.js';

/** Stores the values of settings by key. */
export interface SettingStore {
  readAll(): Promise<Map<string, unknown>>;
  set(key: string, value: unknown): Promise<void>;
  unset(key: string): Promise<void>;
}

/**
 * How long values are cached, in milliseconds. Changes by another process take effect after this time. Verdicts on tokens,
 * which may depend on a setting, are cached for `verdictLifetimeMs`. The sum of this time and `verdictLifetimeMs` must be less than the
 * five seconds within which revoked permissions take effect.
 */
const lifetimeMs = 1000;

type ChangeListener = (change: { key: string; value: unknown; previousValue: unknown }) => void | Promise<void>;

/** The settings of the plugin and of hosts that add definitions. Values are checked when written and cached when read. */
export class Settings {
  readonly #definitions = new Map<string, SettingDefinition>();
  /** Keys by alternative name, such as `LARGE_IMAGE_SHOW_VIEWER`. */
  readonly #keyByConstant = new Map<string, string>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #values = new FreshCache<Map<string, unknown>>({ max: 1, lifetimeMs });

  constructor(
    private readonly store: SettingStore,
    definitions: readonly SettingDefinition[],
  ) {
    for (const definition of definitions) {
      this.#definitions.set(definition.key, definition);
      const constant = constantName(definition.key);
      if (constant !== null) this.#keyByConstant.set(constant, definition.key);
    }
  }

  /** The key for a name, which is either a key or an alternative name such as `LARGE_IMAGE_SHOW_VIEWER`. */
  keyOf(name: string): string {
    return this.#keyByConstant.get(name) ?? name;
  }

  /** All definitions, in their original order. */
  get definitions(): readonly SettingDefinition[] {
    return [...this.#definitions.values()];
  }

  /** The value of a setting, or its default; `null` for an undefined key. */
  async get(name: string): Promise<unknown> {
    const definition = this.#definitions.get(this.keyOf(name));
    if (definition === undefined) return null;
    const value = (await this.#values.get('all', () => this.store.readAll())).get(definition.key);
    return value === undefined || value === null ? (definition.default ?? null) : value;
  }

  /**
   * Checks and stores a value; `null` restores the default.
   *
   * @returns whether the value has changed.
   * @throws InvalidError with field `key` for an unknown key, with field `value` for a value that is not allowed.
   */
  async set(name: string, value: unknown): Promise<boolean> {
    const definition = this.#requireDefinition(this.keyOf(name));
    const { key } = definition;
    const parsedValue = value === null || value === undefined ? null : await definition.parse(value);
    const previousValue = await this.get(key);
    if (parsedValue === null) await this.store.unset(key);
    else await this.store.set(key, parsedValue);
    this.#values.clear();
    const newValue = parsedValue ?? definition.default ?? null;
    if (JSON.stringify(newValue) === JSON.stringify(previousValue)) return false;
    for (const listener of this.#listeners) await listener({ key, value: newValue, previousValue });
    return true;
  }

  /** Restores the default. @returns whether the value has changed. */
  async unset(name: string): Promise<boolean> {
    return this.set(name, null);
  }

  /** Calls `listener` after each change made in this process, until the returned function is called. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #requireDefinition(key: string): SettingDefinition {
    const definition = this.#definitions.get(key);
    if (definition === undefined) throw new InvalidError(`Invalid setting key "${key}".`, 'key');
    return definition;
  }
}
