import { RE2JS } from 're2js';
import { evaluateConfig, type EvaluatedConfig } from './evaluate.js';
import { defaultSection, type ConfigOption } from './parse.js';
import { reprValue, type PythonValue } from './python-value.js';

/** A value of JSON. */
type PlainValue = null | boolean | number | string | PlainValue[] | { [key: string]: PlainValue };

/** The settings in section `[large_image]` of the configuration file. */
export interface FileSettings {
  /** Where encoded tiles are cached; `null` means in memory. `python`, the name in existing files, is read as `memory`. */
  cache_backend: 'none' | 'memory' | 'redis' | null;
  /** The tile cache in memory may use the machine's memory divided by this number. */
  cache_python_memory_portion: number;
  /** `host:port` or a `redis:` or `rediss:` address. */
  cache_redis_url: string;
  cache_redis_username: string | null;
  cache_redis_password: string | null;
  /** Open tile sources may use the machine's memory divided by this number. */
  cache_tilesource_memory_portion: number;
  /** Maximum number of tile sources that stay open; 0 selects the built-in maximum. */
  cache_tilesource_maximum: number;
  /** Whether tile sources stay open between requests. */
  cache_sources: boolean;
  /** Longest side in pixels of an image that sources for small images read. */
  max_small_image_size: number;
  /** Whether colors are corrected by the image's ICC profile, or the name of the rendering intent to use. */
  icc_correction: boolean | string;
  /** Regular expression for the names of files that fallback sources do not read. */
  all_sources_ignored_names: string;
  /**
   * For each tile source, by its name: a regular expression for names of files that it does not read. The keys in the file are
   * `source_<name>_ignored_names`.
   */
  source_ignored_names: Readonly<Record<string, string>>;
  /** Largest annotation file that is imported, in bytes. */
  max_annotation_input_file_length: number;
  /** Bytes of memory for cached tiles and for open tile sources, as the two portions above define them. */
  memory: { tileCacheBytes: number; openSourceBytes: number };
}

/** A setting that was ignored. */
export interface SettingProblem {
  key: string;
  /** Where the setting was found: the environment variable, or the section with the zero-based line of the file. */
  source: string;
  /** The problem, and the allowed values. */
  message: string;
}

/** The allowed values of a setting, and a function that returns the setting for a value, or `undefined` if the value is not allowed. */
type Check<T> = { allowed: string; read(value: PlainValue): T | undefined };

const integer = (minimum: number): Check<number> => ({
  allowed: `an integer of at least ${minimum}`,
  read: (value) => (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum ? value : undefined),
});
// A password such as 123456 is a number in JSON.
const textOrNone: Check<string | null> = {
  allowed: 'text or None',
  read: (value) => (value === null || typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined),
};
const flag: Check<boolean> = {
  allowed: 'True or False',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};
const pattern: Check<string> = {
  allowed: 'a regular expression',
  read: (value) => (typeof value === 'string' && isPattern(value) ? value : undefined),
};
const backends: Readonly<Record<string, 'none' | 'memory' | 'redis'>> = {
  none: 'none',
  memory: 'memory',
  python: 'memory',
  redis: 'redis',
};
const intents = ['PERCEPTUAL', 'RELATIVE_COLORIMETRIC', 'SATURATION', 'ABSOLUTE_COLORIMETRIC'];

/** The description and the check of each key. The defaults are in {@link defaultSettings}. */
const checks: {
  [K in Exclude<keyof FileSettings, 'source_ignored_names' | 'memory'>]: Check<FileSettings[K]> & { description: string };
} = {
  cache_backend: {
    description:
      'Where encoded tiles are cached; `"none"`: nowhere. None without quotes means `"memory"`. So does `"python"`, a value in files for Girder’s large_image.',
    allowed: '"memory", "redis", "none" or None',
    read: (value) => {
      if (value === null) return null;
      const name = typeof value === 'string' ? value.toLowerCase() : '';
      return Object.hasOwn(backends, name) ? backends[name] : undefined;
    },
  },
  cache_python_memory_portion: { description: 'The value n means that cached tiles can use 1/n of the memory.', ...integer(1) },
  cache_redis_url: {
    description: 'Redis for the backend `"redis"`.',
    allowed: 'host, host:port, or an address such as redis://host:port/0',
    read: (value) => (typeof value === 'string' && isRedisAddress(value) ? value : undefined),
  },
  cache_redis_username: { description: 'User name for Redis.', ...textOrNone },
  cache_redis_password: { description: 'Password for Redis.', ...textOrNone },
  cache_tilesource_memory_portion: {
    description: 'The value n means that open images can use 1/n of the memory.',
    ...integer(1),
  },
  cache_tilesource_maximum: { description: 'Maximum number of images that stay open; 0 means 64.', ...integer(0) },
  cache_sources: { description: 'Keep images open between requests.', ...flag },
  max_small_image_size: { description: 'Default of the setting `large_image.max_small_image_size`.', ...integer(1) },
  icc_correction: {
    description: 'Default of the setting `large_image.icc_correction`.',
    allowed: `True, False or one of ${intents.join(', ')}`,
    read: (value) => flag.read(value) ?? intents.find((name) => typeof value === 'string' && name === value.toUpperCase()),
  },
  all_sources_ignored_names: {
    description:
      'RE2 regular expression. Files with matching names are tried only with tile sources that list their extension or type.',
    ...pattern,
  },
  max_annotation_input_file_length: { description: 'Largest annotation file that is imported, in bytes.', ...integer(0) },
};

/** The settings without a configuration file, on a machine with this much memory. */
export function defaultSettings(totalMemoryBytes: number): FileSettings {
  const settings: Omit<FileSettings, 'memory'> = {
    cache_backend: null,
    cache_python_memory_portion: 16,
    cache_redis_url: '127.0.0.1:6379',
    cache_redis_username: null,
    cache_redis_password: null,
    cache_tilesource_memory_portion: 32,
    cache_tilesource_maximum: 0,
    cache_sources: true,
    max_small_image_size: 4096,
    icc_correction: true,
    all_sources_ignored_names: String.raw`(\.mrxs|\.vsi)$`,
    source_ignored_names: {},
    max_annotation_input_file_length: Math.max(1024 ** 3, Math.floor(totalMemoryBytes / 16)),
  };
  return { ...settings, memory: computeMemoryPortions(settings, totalMemoryBytes) };
}

function computeMemoryPortions(
  settings: Pick<FileSettings, 'cache_python_memory_portion' | 'cache_tilesource_memory_portion'>,
  totalMemoryBytes: number,
): FileSettings['memory'] {
  return {
    tileCacheBytes: Math.floor(totalMemoryBytes / settings.cache_python_memory_portion),
    openSourceBytes: Math.floor(totalMemoryBytes / settings.cache_tilesource_memory_portion),
  };
}

/** Key, description, allowed values and default of each setting of the configuration file, for the documentation. */
export function describeSettings(): { key: string; description: string; allowed: string; default: unknown }[] {
  const { memory: _memory, ...defaults } = defaultSettings(0);
  return (Object.keys(checks) as Key[]).map((key) => {
    const { description, allowed } = checks[key];
    return { key, description, allowed, default: defaults[key] };
  });
}

/** Value of an environment variable that selects the built-in default instead of the value in the file. */
const builtInValue = '__default__';

/**
 * Reads the plugin's settings. Environment variables `LARGE_IMAGE_<KEY>` (JSON, otherwise text) override section `[large_image]` of the
 * configuration file, which overrides the defaults. An invalid value is reported and ignored; an invalid file is reported and ignored as a
 * whole. Never throws.
 */
export function readSettings(options: {
  /** Text of the configuration file; `null` if there is none. */
  config: string | null;
  env: Readonly<Record<string, string | undefined>>;
  /** Memory of the machine. */
  totalMemoryBytes: number;
  onProblem: (problem: SettingProblem) => void;
}): FileSettings {
  const settings = defaultSettings(options.totalMemoryBytes);
  const entries = options.config === null ? [] : readSection(options.config, options.onProblem);
  const ignoredNames: Record<string, string> = {};
  for (const { key, value, source } of [...entries, ...readEnvironment(options.env)]) {
    const tileSourceName = /^source_(.+)_ignored_names$/.exec(key)?.[1];
    if (value === undefined) {
      resetSetting(settings, ignoredNames, key, options.totalMemoryBytes);
    } else if (tileSourceName !== undefined) {
      const acceptedValue = pattern.read(value);
      if (acceptedValue !== undefined) ignoredNames[tileSourceName] = acceptedValue;
      else options.onProblem({ key, source, message: `${key} must be ${pattern.allowed}.` });
    } else if (!isKey(key)) {
      options.onProblem({ key, source, message: `${key} is not a setting of [large_image]; it is ignored.` });
    } else if (!assignSetting(settings, key, value)) {
      options.onProblem({ key, source, message: `${key} must be ${checks[key].allowed}.` });
    }
  }
  return { ...settings, source_ignored_names: ignoredNames, memory: computeMemoryPortions(settings, options.totalMemoryBytes) };
}

type Key = keyof typeof checks;

interface FoundSetting {
  key: string;
  /** `undefined` selects the built-in default. */
  value: PlainValue | undefined;
  source: string;
}

function isKey(key: string): key is Key {
  return Object.hasOwn(checks, key);
}

function assignSetting<K extends Key>(settings: FileSettings, key: K, value: PlainValue): boolean {
  // The check at K has the type of the setting at K, but TypeScript sees only the union of all checks.
  const acceptedValue = (checks[key] as Check<FileSettings[K]>).read(value);
  if (acceptedValue === undefined) return false;
  settings[key] = acceptedValue;
  return true;
}

function resetSetting(settings: FileSettings, ignoredNames: Record<string, string>, key: string, totalMemoryBytes: number): void {
  if (isKey(key)) Object.assign(settings, { [key]: defaultSettings(totalMemoryBytes)[key] });
  else delete ignoredNames[key.replace(/^source_|_ignored_names$/g, '')];
}

function readSection(config: string, onProblem: (problem: SettingProblem) => void): FoundSetting[] {
  const section = 'large_image';
  const evaluatedConfig = evaluateConfig(config);
  if (evaluatedConfig.problem !== null) {
    const { line, message } = evaluatedConfig.problem;
    onProblem({
      key: section,
      source: `configuration file, line ${line}`,
      message: `The configuration file is not used: ${message}`,
    });
    return [];
  }
  const ownOptions = evaluatedConfig.options.get(section);
  if (ownOptions === undefined) return [];
  const settings: FoundSetting[] = [];
  const inheritedOptions = [...(evaluatedConfig.options.get(defaultSection) ?? [])].filter(
    ([name]) => !ownOptions.has(name) && isSettingName(name),
  );
  for (const [key, option] of [...inheritedOptions, ...ownOptions]) {
    const source = `[${section}], line ${option.lines[0]?.lineIndex ?? 0}`;
    const value = toPlainValue(valueOfOption(section, option, evaluatedConfig));
    if (value === undefined) onProblem({ key, source, message: `${key} has a value that cannot be used here.` });
    else settings.push({ key, value, source });
  }
  return settings;
}

function isSettingName(name: string): boolean {
  return isKey(name) || /^source_.+_ignored_names$/.test(name);
}

function valueOfOption(section: string, option: ConfigOption, config: EvaluatedConfig): PythonValue | undefined {
  return config.interpolatedValues.get(option)?.get(section) ?? config.literals.get(option)?.value;
}

function readEnvironment(env: Readonly<Record<string, string | undefined>>): FoundSetting[] {
  const settings: FoundSetting[] = [];
  for (const [variable, text] of Object.entries(env)) {
    const key = /^LARGE_IMAGE_([A-Z0-9_]+)$/.exec(variable)?.[1]?.toLowerCase();
    if (key === undefined || text === undefined || !isSettingName(key)) continue;
    settings.push({ key, value: text === builtInValue ? undefined : parseJsonOrText(text), source: variable });
  }
  return settings;
}

function parseJsonOrText(text: string): PlainValue {
  try {
    // JSON.parse gives exactly the values of PlainValue.
    return JSON.parse(text) as PlainValue;
  } catch {
    return text;
  }
}

/** Converts a value to JSON; `undefined` for values without a counterpart (bytes, complex numbers). */
function toPlainValue(value: PythonValue | undefined): PlainValue | undefined {
  switch (value?.type) {
    case 'none':
      return null;
    case 'bool':
    case 'str':
    case 'float':
      return value.value;
    case 'int':
      return Number(value.value);
    case 'list':
    case 'tuple': {
      const items = value.items.map(toPlainValue);
      return items.every((item) => item !== undefined) ? items : undefined;
    }
    case 'dict': {
      const entries = value.entries.map(
        ([key, entry]) => [key.type === 'str' ? key.value : reprValue(key), toPlainValue(entry)] as const,
      );
      return Object.fromEntries(entries.flatMap(([key, entry]) => (entry === undefined ? [] : [[key, entry]])));
    }
    default:
      return undefined;
  }
}

function isRedisAddress(value: string): boolean {
  return URL.canParse(/^rediss?:\/\//i.test(value) ? value : `redis://${value}`);
}

/** Whether a text is an expression of RE2, which matches in linear time and has no look-around or back-references. */
function isPattern(source: string): boolean {
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE) instanceof RE2JS;
  } catch {
    return false;
  }
}
