import type { Model, Mongoose } from 'mongoose';
import type { Host, HostAuth, HostFields, WorkerHost } from '../../host.js';
import { defaultFields } from './host-records.js';

/**
 * Thrown by `install` and `startWorker` for a host or options that they cannot work with. The message says which member is wrong,
 * and how to fix it.
 */
export class InvalidHostError extends TypeError {
  override readonly name = 'InvalidHostError';
}

/** @throws InvalidHostError */
export function refuse(member: string, problem: string, remedy: string): never {
  throw new InvalidHostError(`install: ${member} ${problem}. ${remedy}`);
}

type Members = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Members {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function requireFunctions(owner: unknown, name: string, required: readonly string[], optional: readonly string[] = []): void {
  if (!isObject(owner)) {
    refuse(
      name,
      owner == null ? 'is missing' : 'is not an object',
      `Give an object with ${required.join(', ')} (docs/hosts.md).`,
    );
  }
  for (const member of required) {
    if (typeof owner[member] !== 'function') refuse(`${name}.${member}`, 'is not a function', 'It is required (docs/hosts.md).');
  }
  for (const member of optional) {
    if (owner[member] !== undefined && typeof owner[member] !== 'function') {
      refuse(`${name}.${member}`, 'is not a function', 'Give a function, or leave it out (docs/hosts.md).');
    }
  }
}

/** Fields that the host's schemas must have. Without these fields, items and files would have no names and no parents. */
const requiredFields: { readonly [K in keyof HostFields]: readonly (keyof HostFields[K])[] } = {
  item: ['name', 'folderId'],
  file: ['name', 'itemId', 'size'],
  folder: ['name'],
};

function checkModel<K extends keyof HostFields>(
  kind: K,
  model: unknown,
  { mongoose, fields }: { mongoose: Mongoose; fields: Host['fields'] },
): void {
  const name = `models.${kind}`;
  if (typeof model !== 'function' || !('schema' in model)) {
    refuse(name, 'is not a compiled Mongoose model', `Give the model of your ${kind}s.`);
  }
  const compiled = model as unknown as Model<Record<string, unknown>> & { base: Mongoose };
  if (compiled.base !== mongoose) {
    refuse(
      name,
      'was compiled by a Mongoose instance other than host.mongoose',
      'Give the Mongoose instance that the models belong to.',
    );
  }
  const { schema } = compiled;
  const idType = (schema.path('_id') as { instance?: string } | undefined)?.instance;
  if (idType !== 'ObjectId') {
    refuse(name, `has _ids of type ${idType ?? 'unknown'}`, 'Ids must be ObjectIds: routes and references rely on their form.');
  }
  const pathByField: Partial<Record<keyof HostFields[K], string>> = fields?.[kind] ?? {};
  for (const [field, path] of Object.entries<string | undefined>(pathByField)) {
    if (typeof path !== 'string' || path === '') refuse(`fields.${kind}.${field}`, 'is not a name', 'Give the name of a field.');
    if (!hasPath(schema, path)) {
      refuse(`fields.${kind}.${field}`, `is "${path}", which the schema of ${name} lacks`, 'Add it, or name another field.');
    }
  }
  for (const field of requiredFields[kind]) {
    const path = String(field);
    if (pathByField[field] === undefined && !hasPath(schema, path)) {
      refuse(name, `has no field "${path}"`, `Add it, or say in fields.${kind}.${path} what it is called.`);
    }
  }
}

/** Refuses unknown names of fields, because a mistyped name would have no effect. */
function checkFieldNames(fields: Host['fields']): void {
  for (const [kind, names] of Object.entries(fields ?? {})) {
    if (!Object.hasOwn(defaultFields, kind)) refuse(`fields.${kind}`, 'is unknown', 'Name fields of item, file and folder.');
    const knownFields = defaultFields[kind as keyof HostFields];
    for (const field of Object.keys(names ?? {})) {
      if (!Object.hasOwn(knownFields, field))
        refuse(`fields.${kind}.${field}`, 'is unknown', `Known are ${Object.keys(knownFields).join(', ')}.`);
    }
  }
}

/** Whether documents can have a value under a path. Schemas that are not strict allow all paths. */
function hasPath(schema: Model<Record<string, unknown>>['schema'], path: string): boolean {
  return schema.get('strict') === false || schema.pathType(path) !== 'adhocOrUndefined';
}

/** @throws InvalidHostError if there is no host. */
export function requireHost(host: WorkerHost): void {
  if (!isObject(host)) refuse('the host', 'is missing', 'Call install(host) with an adapter (docs/hosts.md).');
}

/**
 * Matches paths that Express compares letter by letter. It excludes `:id`, `*` and brackets, which would be patterns, and the
 * segments `.` and `..`, which clients cannot send.
 */
const literalPathPattern = /^(\/(?!\.{1,2}(\/|$))[\w.~%@$&,;='-]+)+$/;

/**
 * Checks the host passed to `install`, before anything is changed.
 *
 * @param isServing whether routes will be mounted.
 * @throws InvalidHostError
 */
export function checkHost(host: WorkerHost & { app?: unknown }, isServing: boolean): void {
  if (isServing) requireFunctions(host.app, 'app', ['use']);
  const { apiRoot, brand, mongoose } = host;
  if (typeof apiRoot !== 'string' || !literalPathPattern.test(apiRoot)) {
    refuse(
      'apiRoot',
      `is ${JSON.stringify(apiRoot)}`,
      'Give a literal path that begins with a slash and does not end with one, such as /api/v1.',
    );
  }
  if (brand !== undefined && (typeof brand !== 'string' || !/^[\w-]+$/.test(brand))) {
    refuse('brand', `is ${JSON.stringify(brand)}`, 'Give a word of letters, digits, - and _, or leave it out.');
  }
  if (!isObject(mongoose) || typeof (mongoose as unknown as Members).model !== 'function') {
    refuse('mongoose', 'is missing', 'Give the Mongoose instance that your models were compiled with.');
  }
  if (!isObject(host.models)) refuse('models', 'is missing', 'Give { item, file, folder }.');
  checkFieldNames(host.fields);
  const { item, file, folder } = host.models;
  for (const [kind, model] of Object.entries({ item, file, folder })) {
    checkModel(kind as keyof HostFields, model, { mongoose, fields: host.fields });
  }
  if (file.db !== item.db || folder.db !== item.db) {
    refuse('models', 'are on several connections', 'Compile the three models on one connection.');
  }
  requireFunctions(host.agenda, 'agenda', ['define', 'now', 'start', 'stop', 'on', 'off', 'queryJobs']);
  checkAuth(host.auth);
  requireFunctions(host.access, 'access', ['level', 'filter'], ['list', 'flags']);
  requireFunctions(
    host.files,
    'files',
    ['localPath', 'read', 'create', 'remove'],
    ['createMany', 'removeMany', 'move', 'sweep', 'tree', 'downloadPath'],
  );
  requireFunctions(host, 'host', [], ['createItem', 'removeItem', 'metadataReplaced', 'notify', 'restart']);
  if (host.directory !== undefined)
    requireFunctions(host.directory, 'directory', ['users', 'groups', 'groupsOf'], ['usersByLogin']);
  if (host.events !== undefined) requireFunctions(host.events, 'events', ['on']);
  if (host.logger !== undefined) requireFunctions(host.logger, 'logger', ['debug', 'info', 'warn', 'error']);
}

function checkAuth(auth: HostAuth): void {
  if (!isObject(auth)) refuse('auth', 'is missing', 'Give an object with verify, or with strategies and caller (docs/hosts.md).');
  const { strategies }: Members = auth;
  if (strategies === undefined) requireFunctions(auth, 'auth', ['verify'], ['user']);
  else {
    requireFunctions(auth, 'auth', ['caller'], ['user']);
    if (auth.verify !== undefined) refuse('auth', 'has both verify and strategies', 'Give one of them (docs/hosts.md).');
    if (!Array.isArray(strategies) || strategies.length === 0) {
      refuse('auth.strategies', 'is not a list of Passport strategies', 'Give at least one (docs/hosts.md).');
    }
    for (const [index, strategy] of strategies.entries())
      requireFunctions(strategy, `auth.strategies[${index}]`, ['authenticate']);
  }
}

/**
 * Waits for the connection of the models, if it is being opened.
 *
 * @throws InvalidHostError if nothing opens the connection, or it was closed.
 */
export async function requireOpenConnection({ item }: WorkerHost['models']): Promise<void> {
  const { db } = await item.db.asPromise();
  // `readyState` does not tell a closed connection from one whose server cannot be reached at the moment.
  const answer = await db?.command({ ping: 1 }).catch((error: Error) => {
    if (error.name !== 'MongoNotConnectedError') throw error;
  });
  if (answer === undefined) refuse('models', 'are on a connection that is not open', 'Call mongoose.connect first.');
}

const installedMark = Symbol.for('express-large-image.installed');

/**
 * Marks the models as used by an installation.
 *
 * @returns a function that removes the mark.
 * @throws InvalidHostError if another installation already uses the models.
 */
export function claimModels({ item }: WorkerHost['models']): () => void {
  const marked = item as unknown as { [installedMark]?: true };
  if (marked[installedMark] === true) {
    refuse('models.item', 'already has an installation', 'Close that one first, or give each host its own models.');
  }
  marked[installedMark] = true;
  return () => delete marked[installedMark];
}
