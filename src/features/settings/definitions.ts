import { mappedAttributes } from './dicom-attributes.js';
import { InvalidError } from '../../errors.js';
import type { SettingDefinition } from './definition.js';

const prefix = 'large_image.';

/** A value in lower case, to be compared with the allowed words. Existing clients also send booleans, and words in any case. */
function toLowerCaseText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
    ? String(value).toLowerCase()
    : undefined;
}

function parseBooleanSetting(value: unknown, message: string): boolean {
  const text = toLowerCaseText(value);
  if (text === undefined || !['true', 'false', ''].includes(text)) throw new InvalidError(message, 'value');
  return text !== 'false';
}

function booleanSetting(name: string, defaultValue: boolean, description: string): SettingDefinition {
  const key = prefix + name;
  return {
    key,
    default: defaultValue,
    public: true,
    description,
    allowed: 'true or false; empty text means true',
    schema: { type: 'boolean' },
    parse: (value) => parseBooleanSetting(value, `${key} must be a boolean.`),
  };
}

const decimalPattern = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?\s*$/i;

function countSetting(name: string, defaultValue: number, description: string, unit?: string): SettingDefinition {
  const key = prefix + name;
  return {
    key,
    default: defaultValue,
    public: true,
    description,
    allowed: 'a whole number, 0 or more; fractions are cut off',
    schema: { type: 'integer', minimum: 0, ...(unit !== undefined && { 'x-unit': unit }) },
    parse(value) {
      // `Number()` would also accept other notations, and an empty text.
      const isNumeric =
        typeof value === 'string' ? decimalPattern.test(value) : typeof value === 'number' || typeof value === 'boolean';
      const count = isNumeric ? Math.trunc(Number(value)) : NaN;
      if (!Number.isSafeInteger(count) || count < 0) throw new InvalidError(`${key} must be a non-negative integer.`, 'value');
      return count;
    },
  };
}

function objectTextSetting(name: string, description: string): SettingDefinition {
  const key = prefix + name;
  const notAnObjectError = (cause?: unknown) => new InvalidError(`${key} must be a JSON object.`, 'value', { cause });
  return {
    key,
    default: null,
    public: true,
    description,
    allowed: 'JSON text of an object such as {"images": ["label", "macro"]}, or empty',
    schema: { type: 'string', format: 'json' },
    parse(value) {
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return toSpacedJson(value);
      if (typeof value !== 'string') throw notAnObjectError();
      const text = value.trim();
      if (text === '') return '';
      let parsedValue: unknown;
      try {
        parsedValue = JSON.parse(text);
      } catch (cause) {
        throw notAnObjectError(cause);
      }
      if (typeof parsedValue !== 'object' || parsedValue === null || Array.isArray(parsedValue)) throw notAnObjectError();
      return text;
    },
  };
}

/** The setting that maps keywords of DICOM attributes to metadata keys. */
function dicomMetadataSetting(): SettingDefinition {
  const setting = objectTextSetting(
    'dicomweb_metadata',
    'Metadata keys from which DICOM attributes are read: {"PatientID": "case.patient"}. For an attribute that is not listed here, the key is the attribute’s own name.',
  );
  return {
    ...setting,
    public: false,
    allowed: 'JSON text of an object that gives keys for attributes listed in docs/dicomweb.md, or empty',
    async parse(value) {
      const text = await setting.parse(value);
      const entries = Object.entries(JSON.parse(String(text) || '{}') as Record<string, unknown>);
      for (const [keyword, key] of entries) {
        const subject = `${setting.key}: ${JSON.stringify(keyword.slice(0, 64))}`;
        if (!mappedAttributes.some((attribute) => attribute === keyword))
          throw new InvalidError(`${subject} cannot be mapped. Allowed attributes: ${mappedAttributes.join(', ')}.`, 'value');
        if (typeof key !== 'string' || key === '' || key.length > 200)
          throw new InvalidError(`${subject} needs the name of a metadata key, a string of 1 to 200 characters.`, 'value');
      }
      return text;
    },
  };
}

function wordSetting(name: string, words: readonly [string, ...string[]], description: string): SettingDefinition {
  const key = prefix + name;
  const allowed = words.join(', ');
  return {
    key,
    default: words[0],
    public: true,
    description,
    allowed,
    schema: { type: 'string', enum: words },
    parse(value) {
      const match = words.find((word) => word.toLowerCase() === toLowerCaseText(value));
      if (match === undefined) throw new InvalidError(`${key} must be one of ${allowed}.`, 'value');
      return match;
    },
  };
}

/** JSON text with `, ` and `: ` between members, as existing clients show it. */
function toSpacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toSpacedJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${toSpacedJson(member)}`).join(', ')}}`;
}

const renderingIntents = ['PERCEPTUAL', 'RELATIVE_COLORIMETRIC', 'SATURATION', 'ABSOLUTE_COLORIMETRIC'];

/** Checks of values that need the host. */
export interface SettingChecks {
  /** Whether a folder with this id exists. */
  folderExists(id: string): Promise<boolean>;
}

/** Defaults that the configuration file may change. */
export interface SettingDefaults {
  max_small_image_size: number;
  icc_correction: boolean | string;
}

const builtInDefaults: SettingDefaults = { max_small_image_size: 4096, icc_correction: true };

const defaultViewer: SettingDefinition = {
  key: `${prefix}default_viewer`,
  default: null,
  public: true,
  description: 'Viewer that Girder’s web client shows first.',
  allowed: 'text',
  schema: { type: 'string' },
  parse: (value) => (typeof value === 'string' ? value : JSON.stringify(value)).trim(),
};

const autoSet: SettingDefinition = {
  key: `${prefix}auto_set`,
  default: true,
  public: true,
  description: 'Turn uploads with a known extension or type into large images automatically; `all` tries every file.',
  allowed: 'true, false or "all"; empty text means true',
  schema: { enum: [true, false, 'all'] },
  parse(value) {
    if (value === 'all') return 'all';
    // As in Girder, only the exact word `all` has its special meaning. In upper or mixed case it counts as true.
    if (toLowerCaseText(value) === 'all') return true;
    return parseBooleanSetting(value, `${prefix}auto_set must be a boolean or "all".`);
  },
};

function iccSetting(defaultValue: boolean | string): SettingDefinition {
  return {
    key: `${prefix}icc_correction`,
    default: defaultValue,
    public: true,
    description: 'Convert colors to sRGB with the ICC profile of the file. `true` uses the perceptual intent.',
    allowed: `true, false, ${renderingIntents.join(', ')}; empty text means true`,
    schema: { enum: [true, false, ...renderingIntents] },
    parse(value) {
      const intent = renderingIntents.find((name) => name.toLowerCase() === toLowerCaseText(value));
      return intent ?? parseBooleanSetting(value, `${prefix}icc_correction must be a boolean or a named intent.`);
    },
  };
}

const studyKey: SettingDefinition = {
  key: `${prefix}dicomweb_study_key`,
  default: null,
  public: false,
  description: 'Metadata key: items with the same value form one DICOM study. Empty: each item is a study.',
  allowed: 'a key, or a path of keys separated by dots; or empty',
  schema: { type: 'string', maxLength: 200 },
  parse(value) {
    if (typeof value === 'string' && value.length <= 200) return value.trim();
    throw new InvalidError(`${prefix}dicomweb_study_key must be a string of at most 200 characters.`, 'value');
  },
};

function configFolderSetting(checks: SettingChecks): SettingDefinition {
  return {
    key: `${prefix}config_folder`,
    default: null,
    public: true,
    description:
      'Folder with the default configuration. It applies to a folder if neither that folder nor any folder above it has a configuration.',
    allowed: 'the id of a folder, or empty',
    schema: { type: 'string' },
    async parse(value) {
      if (value === '' || value === false || value === 0) return null;
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      if (!/^[0-9a-f]{24}$/i.test(text)) throw new InvalidError(`Invalid ObjectId: ${text}`, 'id');
      if (!(await checks.folderExists(text))) throw new InvalidError(`No such folder: ${text}`, 'id');
      return text.toLowerCase();
    },
  };
}

/** The settings of the plugin. The table in docs/settings.md is generated from them. */
export function settingDefinitions(
  checks: SettingChecks,
  defaults: SettingDefaults = builtInDefaults,
): readonly SettingDefinition[] {
  return [
    booleanSetting('show_thumbnails', true, 'Show thumbnails in item lists.'),
    booleanSetting('show_viewer', true, 'Show a viewer on item pages in Girder’s web client.'),
    defaultViewer,
    autoSet,
    countSetting(
      'max_thumbnail_files',
      10,
      'Maximum number of cached pictures per item and kind (thumbnail, label, macro, …); 0 keeps none.',
    ),
    countSetting(
      'max_small_image_size',
      defaults.max_small_image_size,
      'Maximum width and height, in pixels, at which an untiled image is served as a single tile.',
    ),
    iccSetting(defaults.icc_correction),
    booleanSetting(
      'annotation_history',
      true,
      'Keep previous versions of annotations, so that deleted annotations can be restored.',
    ),
    {
      ...booleanSetting(
        'annotation_cleanup',
        false,
        'Remove old versions of annotations every hour: those over 30 days old, except the 10 most recent of each annotation. Also remove all versions of annotations whose item no longer exists.',
      ),
      public: false,
    },
    booleanSetting(
      'merge_dicom',
      false,
      'Merge DICOM items of one series in a folder into one item. Files of one item always form one image.',
    ),
    wordSetting(
      'associated_images',
      ['READ', 'WRITE', 'ADMIN'],
      'Permission on an item that is needed to see its label, macro and other associated images. They may show names of patients.',
    ),
    wordSetting(
      'links',
      ['READ', 'WRITE', 'OFF'],
      'Permission on an item or folder that is needed to make links to it. OFF: nobody can make links; existing links keep working.',
    ),
    booleanSetting('links_without_end', false, 'Allow links that never expire.'),
    booleanSetting(
      'notification_stream_fallback',
      true,
      'Let Girder’s web client poll for notifications if the event stream is disabled.',
    ),
    ...['show_extra_public', 'show_extra', 'show_extra_admin'].map((name, i) =>
      objectTextSetting(name, `Extra content of item lists for ${['everyone', 'signed-in users', 'administrators'][i]}.`),
    ),
    ...['show_item_extra_public', 'show_item_extra', 'show_item_extra_admin'].map((name, i) =>
      objectTextSetting(
        name,
        `Extra content of item pages in Girder’s web client, for ${['everyone', 'signed-in users', 'administrators'][i]}.`,
      ),
    ),
    dicomMetadataSetting(),
    studyKey,
    configFolderSetting(checks),
  ];
}
