import { InvalidError } from '../errors.js';

type JsonObject = Record<string, unknown>;

/** The parts of an annotation that a patch can change. */
export interface PatchTarget {
  /** The document without its elements. */
  head: Readonly<JsonObject>;
  /** Elements by id. All existing elements whose ids {@link patchedElementIds} returns must be among them. */
  elements: ReadonlyMap<string, Readonly<JsonObject>>;
}

/** The effect of a patch on one element, not checked against the schema yet. */
type ElementChange =
  | { kind: 'add'; id: string; element: JsonObject }
  | { kind: 'replace'; id: string; element: JsonObject }
  | { kind: 'remove'; id: string };

/** The result of a patch. Unchanged objects are the same objects as in the target. */
export interface PatchResult {
  head: JsonObject;
  isHeadChanged: boolean;
  /**
   * The changes of all elements that differ. Added elements come last, in the order in which they were added. An element that was removed
   * and added again moves to the end: it has two changes, `remove` and `add`.
   */
  elementChanges: ElementChange[];
}

/** One operation, with its path split. */
export interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  /** As sent, without leading and trailing slashes. */
  path: string;
  /** Lower-case id of the element that the operation changes; `null` if it changes the document. */
  elementId: string | null;
  /** Path below the element or document; empty for a whole element. */
  keys: readonly string[];
  value: unknown;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maximum number of parts of one path. Stored documents are nested less deeply. */
const maxParts = 100;
/** Maximum number of parts of all paths of a patch together. */
const maxTotalParts = 100_000;
/** Maximum number of operations of a patch. */
const maxOperations = 20_000;

function parseOperation(entry: unknown): PatchOperation {
  if (!isObject(entry) || !Object.hasOwn(entry, 'op') || !Object.hasOwn(entry, 'path')) {
    throw new InvalidError('patch missing op or path');
  }
  const { op, path: sentPath, value } = entry;
  if (typeof sentPath !== 'string') throw new InvalidError('patch missing op or path');
  if (op !== 'add' && op !== 'replace' && op !== 'remove') throw new InvalidError('patch has invalid op');
  if (op !== 'remove' && (value === undefined || value === null)) throw new InvalidError('patch has invalid op');
  const path = sentPath.replace(/^\/+/, '').replace(/(?<!\/)\/+$/, '');
  const [first, ...otherParts] = path.split('/', maxParts + 1);
  if (otherParts.length === maxParts) throw new InvalidError(`patch path has more than ${maxParts} parts`);
  if (first !== 'elements') return { op, path, elementId: null, keys: [first ?? '', ...otherParts], value };
  const [elementPart, ...keys] = otherParts;
  if (elementPart === undefined) throw missingPathError(path);
  if (!elementPart.startsWith('id:')) throw new InvalidError(`patch path ${path} is not handled`);
  return { op, path, elementId: elementPart.slice(3).toLowerCase(), keys, value };
}

/**
 * Parses the body of a PATCH.
 *
 * @throws InvalidError if an operation is incomplete or not supported, or if the patch exceeds a limit. The messages for operations are
 * the ones that existing clients expect.
 */
export function parsePatch(body: unknown): PatchOperation[] {
  if (Array.isArray(body)) {
    if (body.length > maxOperations) throw new InvalidError(`patch has more than ${maxOperations} operations`);
    let partCount = 0;
    return body.map((entry) => {
      const operation = parseOperation(entry);
      partCount += operation.keys.length;
      if (partCount > maxTotalParts) throw new InvalidError(`patch has paths of more than ${maxTotalParts} parts together`);
      return operation;
    });
  }
  // An empty object counts as an empty list. Any other value is not a list of operations.
  if (isObject(body) && Object.keys(body).length === 0) return [];
  throw new InvalidError('patch missing op or path');
}

/** Ids of the elements that must be loaded to apply the operations. */
export function patchedElementIds(operations: readonly PatchOperation[]): Set<string> {
  return new Set(operations.flatMap(({ elementId }) => (elementId === null ? [] : [elementId])));
}

function missingPathError(path: string): InvalidError {
  return new InvalidError(`patch path ${path} does not exist`);
}

function alreadyExistsError(subject: string): InvalidError {
  return new InvalidError(`Cannot add ${subject} as it already exists`);
}

/**
 * Maximum number of list entries that the removals of one patch can move. Without a limit, a patch that removes the entries of a long
 * list one by one would take minutes.
 */
const maxMovedEntries = 200_000_000;

/**
 * Applies operations inside objects and lists. Copies each container on the path of an operation once. All other containers stay the same
 * objects.
 */
class ContainerEditor {
  /** Copies that this patch has made. Further operations change them in place. */
  readonly #copies = new WeakSet<object>();
  #movedEntryCount = 0;

  /**
   * Applies an operation to the value at `keys` below a container.
   *
   * @returns the container itself if it is a copy already or nothing has changed; otherwise a changed copy.
   */
  changeAt(container: unknown, keys: readonly string[], operation: PatchOperation): unknown {
    const [key = '', ...deeperKeys] = keys;
    if (Array.isArray(container)) {
      const array = container as unknown[];
      if (deeperKeys.length === 0) return this.#changeEntry(array, key, operation);
      const index = parseIndex(key, operation);
      if (index >= array.length) throw missingPathError(operation.path);
      const changedEntry = this.changeAt(array[index], deeperKeys, operation);
      if (changedEntry === array[index]) return array;
      const copy = this.#copyOfArray(array);
      copy[index] = changedEntry;
      return copy;
    }
    if (!isObject(container)) throw missingPathError(operation.path);
    if (deeperKeys.length === 0) return this.changeMember(container, key, operation);
    if (!Object.hasOwn(container, key)) throw missingPathError(operation.path);
    const changedMember = this.changeAt(container[key], deeperKeys, operation);
    return changedMember === container[key] ? container : this.#setMember(container, key, changedMember);
  }

  /** Changes one member of an object. Adding an existing member fails. */
  changeMember(object: Readonly<JsonObject>, key: string, { op, path, value }: PatchOperation): JsonObject {
    const exists = Object.hasOwn(object, key);
    if (op === 'add' && exists) throw alreadyExistsError(path);
    if (op !== 'remove') return this.#setMember(object, key, value);
    if (!exists) return object;
    const copy = this.#copyOfObject(object);
    delete copy[key];
    return copy;
  }

  #setMember(object: Readonly<JsonObject>, key: string, value: unknown): JsonObject {
    const copy = this.#copyOfObject(object);
    // The member is defined, not assigned, so that a key `__proto__` becomes an own property, which the validator refuses.
    Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true });
    return copy;
  }

  #changeEntry(array: unknown[], key: string, operation: PatchOperation): unknown[] {
    const { op, path, value } = operation;
    const index = parseIndex(key, operation);
    if (op === 'remove') {
      if (index >= array.length) throw missingPathError(path);
      this.#movedEntryCount += array.length - index;
      if (this.#movedEntryCount > maxMovedEntries)
        throw new InvalidError('patch removes too many entries of long lists one by one');
      const copy = this.#copyOfArray(array);
      copy.splice(index, 1);
      return copy;
    }
    if (index > array.length || (op === 'add' && index < array.length)) throw new InvalidError(`Cannot ${op} ${path}`);
    const copy = this.#copyOfArray(array);
    copy[index] = value;
    return copy;
  }

  #copyOfArray(array: unknown[]): unknown[] {
    if (this.#copies.has(array)) return array;
    const copy = array.slice();
    this.#copies.add(copy);
    return copy;
  }

  #copyOfObject(object: Readonly<JsonObject>): JsonObject {
    if (this.#copies.has(object)) return object;
    const copy = { ...object };
    this.#copies.add(copy);
    return copy;
  }
}

function parseIndex(key: string, { path }: PatchOperation): number {
  if (!/^\d{1,15}$/.test(key)) throw missingPathError(path);
  return Number(key);
}

function changeHead(head: Readonly<JsonObject>, operation: PatchOperation, editor: ContainerEditor): JsonObject {
  const { op, keys } = operation;
  const [key = ''] = keys;
  // The head is an object, and for an object the editor returns an object.
  if (keys.length > 1) return editor.changeAt(head, keys, operation) as JsonObject;
  const exists = Object.hasOwn(head, key);
  if (op === 'add' && exists && Boolean(head[key])) throw alreadyExistsError(key);
  // Adding a field that exists but is empty replaces it.
  return editor.changeMember(head, key, op === 'add' ? { ...operation, op: 'replace' } : operation);
}

/** Applies operations to elements. Tracks the elements' current values and the order of added elements. */
class ElementEdits {
  readonly #currentById: Map<string, JsonObject | null>;
  readonly #appendedIds = new Set<string>();
  readonly #changedIds = new Set<string>();

  constructor(
    private readonly original: PatchTarget['elements'],
    private readonly editor: ContainerEditor,
  ) {
    this.#currentById = new Map(original);
  }

  apply(operation: PatchOperation, id: string): void {
    const { op, path, keys } = operation;
    const element = this.#currentById.get(id) ?? null;
    if (keys.length > 0) {
      if (element === null) throw missingPathError(path);
      // An element keeps its id, because elements are identified by their ids.
      if (keys.length === 1 && keys[0] === 'id') throw new InvalidError(`Cannot ${op} ${path}`);
      // An element is an object, and for an object the editor returns an object.
      this.#set(id, this.editor.changeAt(element, keys, operation) as JsonObject);
    } else if (op === 'remove') {
      this.#set(id, null);
      this.#appendedIds.delete(id);
    } else {
      if (op === 'add' && element !== null) throw alreadyExistsError(`element ${id}`);
      if (!isObject(operation.value)) throw new InvalidError(`patch value of ${path} must be an object`);
      this.#set(id, { ...operation.value, id });
      if (element === null) this.#appendedIds.add(id);
    }
  }

  #set(id: string, element: JsonObject | null): void {
    this.#changedIds.add(id);
    this.#currentById.set(id, element);
  }

  changes(): ElementChange[] {
    const changes: ElementChange[] = [];
    for (const id of this.#changedIds) {
      const element = this.#currentById.get(id) ?? null;
      if (!this.original.has(id)) continue;
      if (element === null || this.#appendedIds.has(id)) changes.push({ kind: 'remove', id });
      else if (element !== this.original.get(id)) changes.push({ kind: 'replace', id, element });
    }
    for (const id of this.#appendedIds) {
      const element = this.#currentById.get(id);
      if (element) changes.push({ kind: 'add', id, element });
    }
    return changes;
  }
}

/**
 * Applies operations one after another. If one fails, none takes effect. The target is not changed. The caller checks the resulting
 * head and the changed elements against the schema.
 *
 * @throws InvalidError, with the messages that existing clients expect, if an operation does not fit the existing values.
 */
export function applyPatch(target: PatchTarget, operations: readonly PatchOperation[]): PatchResult {
  let head: JsonObject = target.head;
  const editor = new ContainerEditor();
  const edits = new ElementEdits(target.elements, editor);
  for (const operation of operations) {
    if (operation.elementId === null) head = changeHead(head, operation, editor);
    else edits.apply(operation, operation.elementId);
  }
  return { head, isHeadChanged: head !== target.head, elementChanges: edits.changes() };
}
