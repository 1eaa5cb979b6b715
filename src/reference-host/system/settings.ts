import { parseServerRoot } from '../http/public-address.js';
import { InvalidError, type SettingDefinition } from '../../larger-host.js';

/** Users and groups that can create collections, in addition to site administrators. */
interface CollectionCreatePolicy {
  open: boolean;
  groups: string[];
  users: string[];
}

/** Values of the host's settings by key. */
export interface CoreSettings {
  'core.cookie_lifetime': number;
  'core.cookie_domain': string;
  'core.cors.allow_origin': string;
  'core.cors.allow_methods': string;
  'core.cors.allow_headers': string;
  'core.cors.expose_headers': string;
  'core.registration_policy': 'open' | 'closed' | 'approve';
  'core.registrations_per_address': number;
  'core.enable_password_login': boolean;
  'core.sign_in_window': number;
  'core.sign_in_failures_per_login_and_address': number;
  'core.sign_in_failures_per_login': number;
  'core.sign_in_failures_per_address': number;
  'core.email_verification': 'disabled' | 'optional' | 'required';
  'core.api_keys': boolean;
  'core.collection_create_policy': CollectionCreatePolicy;
  'core.user_default_folders': 'public_private' | 'none';
  'core.upload_minimum_chunk_size': number;
  'core.upload_maximum_size': number;
  'core.user_maximum_uploads': number;
  'core.user_quota': number;
  'core.server_root': string;
  'core.brand_name': string;
  'core.contact_email_address': string;
  'core.privacy_notice': string;
  'core.banner_color': string;
  'core.show_download': 'all' | 'user' | 'admin' | 'none';
  'core.disable_anonymous_access': false;
  'core.smtp.encryption': 'none';
  'core.add_to_group_policy': 'never' | 'yesadmin' | 'yesmod';
  'core.trash_days': number;
  'core.enable_notification_stream': boolean;
}

type Definition<K extends keyof CoreSettings> = SettingDefinition<CoreSettings[K]> & { key: K };

function defineSetting<K extends keyof CoreSettings>(
  key: K,
  defaultValue: CoreSettings[K],
  allowed: string,
  description: string,
  { schema, parse }: ValueType<CoreSettings[K]>,
): Definition<K> {
  return { key, default: defaultValue, public: false, allowed, description, schema, parse };
}

/** The schema of a setting's values, and a function that checks or converts values from clients. */
type ValueType<T> = Pick<SettingDefinition<T>, 'schema'> & { parse: (value: unknown) => T };

const parseText = (value: unknown): string => {
  if (typeof value === 'string') return value.trim();
  throw new InvalidError('The value must be text.', 'value');
};

/** Creates a type for texts that `parse` checks further. */
function createTextType(parse: (value: unknown) => string): ValueType<string> {
  return { schema: { type: 'string' }, parse };
}

const anyTextType = createTextType(parseText);

const booleanType: ValueType<boolean> = {
  schema: { type: 'boolean' },
  parse(value) {
    if (typeof value === 'boolean') return value;
    throw new InvalidError('The value must be true or false.', 'value');
  },
};

function createEnumType<const W extends string>(...words: W[]): ValueType<W> {
  return {
    schema: { type: 'string', enum: words },
    parse(value) {
      const allowedWord = words.find((word) => word === value);
      if (allowedWord !== undefined) return allowedWord;
      throw new InvalidError(`The value must be one of ${words.join(', ')}.`, 'value');
    },
  };
}

interface NumberRange {
  type?: 'integer' | 'number';
  minimum?: number;
  maximum?: number;
  unit?: 'bytes' | 'seconds' | 'days';
}

function createNumberType({
  type = 'integer',
  minimum = 0,
  maximum = Number.MAX_SAFE_INTEGER,
  unit,
}: NumberRange): ValueType<number> {
  return {
    schema: { type, minimum, maximum, ...(unit !== undefined && { 'x-unit': unit }) },
    parse(value) {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
      const isInRange = typeof number === 'number' && number >= minimum && number <= maximum;
      if (isInRange && (type === 'number' || Number.isInteger(number))) return number;
      const typeText = type === 'integer' ? 'an integer' : 'a number';
      throw new InvalidError(`The value must be ${typeText} from ${minimum} to ${maximum}.`, 'value');
    },
  };
}

const countType = createNumberType({ maximum: 1_000_000 });

/** Parses a list separated by commas. Trims the entries, and removes their trailing slashes, which copied addresses may have. */
function parseOrigins(value: unknown): string {
  const entries = parseText(value).split(',');
  return entries
    .map((entry) => entry.trim().replace(/(?<!\/)\/+$/, ''))
    .filter((entry) => entry !== '')
    .join(',');
}

function parseColor(value: unknown): string {
  const color = parseText(value).toLowerCase();
  if (/^#([0-9a-f]{3}|[0-9a-f]{6})$/.test(color)) return color;
  throw new InvalidError('The value must be a color such as #3f3b3b.', 'value');
}

function parseNoAnonymousAccess(value: unknown): false {
  if (value === false) return value;
  throw new InvalidError('The value must be false: access lists decide what can be seen without an account.', 'value');
}

function parseCreatePolicy(value: unknown): CollectionCreatePolicy {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidError('The value must be an object with the members open, groups and users.', 'value');
  }
  const { open = false, groups = [], users = [] } = value as Record<string, unknown>;
  const isIdList = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((id) => typeof id === 'string' && /^[0-9a-f]{24}$/.test(id));
  if (typeof open !== 'boolean') throw new InvalidError('The member open must be true or false.', 'value');
  if (!isIdList(groups)) throw new InvalidError('The member groups must be a list of group ids.', 'value');
  if (!isIdList(users)) throw new InvalidError('The member users must be a list of user ids.', 'value');
  return { open, groups, users };
}

/** A hundred years: longer than any session, and still a valid date. */
export const maxTokenDays = 36_500;

/** The host's settings, stored by the plugin and served by its routes. */
export const coreSettingDefinitions = [
  defineSetting(
    'core.cookie_lifetime',
    180,
    'a number of days above 0',
    'Lifetime of a sign-in, in days.',
    createNumberType({ type: 'number', minimum: 1 / 1440, maximum: maxTokenDays, unit: 'days' }),
  ),
  defineSetting('core.cookie_domain', '', 'text', 'Domain of the sign-in cookie; empty for this host only.', anyTextType),
  defineSetting(
    'core.cors.allow_origin',
    '',
    'origins separated by commas; * and ? match any text and any character',
    'Origins whose pages may call this server; empty for none.',
    createTextType(parseOrigins),
  ),
  defineSetting(
    'core.cors.allow_methods',
    'GET, POST, PUT, HEAD, DELETE',
    'HTTP methods separated by commas',
    'HTTP methods allowed for other origins.',
    anyTextType,
  ),
  defineSetting(
    'core.cors.allow_headers',
    'Accept-Encoding, Authorization, Content-Disposition, Content-Type, Cookie, Girder-Authorization, Girder-OTP, Girder-Token',
    'header names separated by commas',
    'Request headers allowed for other origins.',
    anyTextType,
  ),
  defineSetting(
    'core.cors.expose_headers',
    'Girder-Total-Count, Content-Disposition',
    'header names separated by commas',
    'Response headers exposed to other origins.',
    anyTextType,
  ),
  defineSetting(
    'core.registration_policy',
    'open',
    'open, closed or approve',
    'Who can register: anyone (open), no one (closed), or anyone, after approval by an administrator (approve).',
    createEnumType('open', 'closed', 'approve'),
  ),
  defineSetting(
    'core.registrations_per_address',
    500,
    'an integer; 0 for no limit',
    'Maximum number of accounts and anonymous sessions that one network can create per hour without signing in.',
    countType,
  ),
  defineSetting('core.enable_password_login', true, 'true or false', 'Let users sign in with passwords.', booleanType),
  defineSetting(
    'core.sign_in_window',
    900,
    'a number of seconds from 1 to 86400',
    'Time for which failed sign-ins count, in seconds from the first one.',
    createNumberType({ minimum: 1, maximum: 86_400, unit: 'seconds' }),
  ),
  defineSetting(
    'core.sign_in_failures_per_login_and_address',
    10,
    'an integer; 0 for no limit',
    'Maximum number of wrong passwords for one login from one network.',
    countType,
  ),
  defineSetting(
    'core.sign_in_failures_per_login',
    100,
    'an integer; 0 for no limit',
    'Maximum number of wrong passwords for one login, in total from all networks. Networks from which its user has signed in within the last 21 days do not count.',
    countType,
  ),
  defineSetting(
    'core.sign_in_failures_per_address',
    100,
    'an integer; 0 for no limit',
    'Maximum number of wrong passwords (for any login) and of wrong API keys from one network.',
    countType,
  ),
  defineSetting(
    'core.email_verification',
    'disabled',
    'disabled, optional or required',
    'With `required`, users can sign in only after an administrator has marked their email address as verified. The other values do not restrict signing in.',
    createEnumType('disabled', 'optional', 'required'),
  ),
  defineSetting('core.api_keys', true, 'true or false', 'Allow API keys.', booleanType),
  defineSetting(
    'core.collection_create_policy',
    { open: false, groups: [], users: [] },
    'an object {open, groups, users}',
    'Who can create collections, in addition to administrators: everyone, or these groups and users.',
    { schema: { type: 'object' }, parse: parseCreatePolicy },
  ),
  defineSetting(
    'core.user_default_folders',
    'public_private',
    'public_private or none',
    'Folders created for a new user.',
    createEnumType('public_private', 'none'),
  ),
  defineSetting(
    'core.upload_minimum_chunk_size',
    5 * 1024 * 1024,
    'a number of bytes, 0 or more',
    'Minimum size of upload chunks, except the last.',
    createNumberType({ unit: 'bytes' }),
  ),
  defineSetting(
    'core.upload_maximum_size',
    100 * 1024 ** 3,
    'a number of bytes; 0 for no limit',
    'Maximum size of an uploaded file.',
    createNumberType({ unit: 'bytes' }),
  ),
  defineSetting(
    'core.user_maximum_uploads',
    100,
    'an integer; 0 for no limit',
    'Maximum number of unfinished uploads per user.',
    createNumberType({}),
  ),
  defineSetting(
    'core.user_quota',
    1024 ** 4,
    'a number of bytes; 0 for no limit',
    'Maximum total size of a user’s uploads (finished or not) and of the files that jobs created for the user.',
    createNumberType({ unit: 'bytes' }),
  ),
  defineSetting(
    'core.server_root',
    '',
    'an address such as https://host/images, or empty',
    'Public address of the server, with its path if a proxy serves it below one. Addresses in responses begin with it.',
    createTextType(parseServerRoot),
  ),
  defineSetting(
    'core.brand_name',
    'Girder',
    'text',
    'Name of the server on its pages. Until you set one, pages show “Large image”, although the API returns “Girder”.',
    anyTextType,
  ),
  defineSetting('core.contact_email_address', '', 'text', 'Email address of the administrator.', anyTextType),
  defineSetting('core.privacy_notice', '', 'text', 'Link to the privacy notice in web clients.', anyTextType),
  defineSetting(
    'core.banner_color',
    '#3f3b3b',
    'a color such as #3f3b3b',
    'Banner color of web clients.',
    createTextType(parseColor),
  ),
  defineSetting(
    'core.show_download',
    'all',
    'all, user, admin or none',
    'Who sees download buttons in web clients. Access lists decide who can download.',
    createEnumType('all', 'user', 'admin', 'none'),
  ),
  defineSetting(
    'core.disable_anonymous_access',
    false,
    'false',
    'Has no effect; accepted because web clients send it. Access lists decide what can be seen without an account.',
    { schema: { type: 'boolean', enum: [false] }, parse: parseNoAnonymousAccess },
  ),
  defineSetting(
    'core.smtp.encryption',
    'none',
    'none',
    'Has no effect; accepted because web clients send it. This server does not send email.',
    createEnumType('none'),
  ),
  defineSetting(
    'core.add_to_group_policy',
    'never',
    'never, yesadmin or yesmod',
    'Who can add members to a group without inviting them, in addition to site administrators: nobody (never), its administrators (yesadmin), or its moderators too (yesmod).',
    createEnumType('never', 'yesadmin', 'yesmod'),
  ),
  defineSetting(
    'core.trash_days',
    30,
    'a number of days; 0 for no limit',
    'How long folders and items stay in the trash before they are removed permanently, in days.',
    createNumberType({ type: 'number', maximum: maxTokenDays, unit: 'days' }),
  ),
  defineSetting(
    'core.enable_notification_stream',
    true,
    'true or false',
    'Offer notifications as an event stream. Turning this off closes open streams.',
    booleanType,
  ),
] as const;
