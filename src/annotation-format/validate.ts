import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { ElementIds } from './element-ids.js';
import { compileCheck, type Check } from './fast-check.js';
import { describeValue, describeSchemaError, idsNotUniqueMessage, schemaError, type MakeError } from './messages.js';
import { checkFreeForm, checkRules } from './rules.js';
import {
  elementSchemas,
  headProperties,
  type AnnotationDocument,
  type AnnotationElement,
  type AnnotationHead,
} from './schema/document.js';

/** Names the element at an index in messages. */
export type NameElement = (index: number) => string;

export const nameByIndex: NameElement = (index) => `elements[${index}]`;

/**
 * Checks a parsed element and returns it without the keys that begin with `_`. `index` is its position among the elements, which
 * `nameOf` turns into a name for messages; default: {@link nameByIndex}. Ids are not compared: see {@link ElementIds}.
 *
 * @throws the error from the validator's `makeError`, which names element, type, property and the allowed values.
 */
export type ElementValidator = (value: unknown, index: number, nameOf?: NameElement) => AnnotationElement;

/**
 * Ajv configured for the annotation schema: errors contain the refused value. A test checks that the schemas are valid, so Ajv does
 * not.
 */
export function createAnnotationAjv(): Ajv {
  return new Ajv({
    verbose: true,
    allErrors: false,
    strictNumbers: true,
    strictTypes: false,
    meta: false,
    validateSchema: false,
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const underscore = '_'.charCodeAt(0);

/**
 * Returns the element without keys that begin with `_`, such as `_bbox`, which clients send back with elements that they have received.
 * If it has no such key, returns the element itself.
 */
function dropPrivateKeys(element: Record<string, unknown>): Record<string, unknown> {
  let hasPrivateKeys = false;
  for (const key in element) {
    if (key.charCodeAt(0) === underscore) hasPrivateKeys = true;
  }
  if (!hasPrivateKeys) return element;
  // `fromEntries` only makes own properties. A key `__proto__` begins with `_`, so it is dropped too.
  return Object.fromEntries(Object.entries(element).filter(([key]) => !key.startsWith('_')));
}

interface TypeValidator {
  accepts: Check;
  /**
   * Finds the first error in an element. Ajv compiles the schema at the first call, because compiling takes milliseconds, and most
   * annotations have no errors.
   */
  findError(element: unknown): ErrorObject | null;
}

function createTypeValidators(brand: string): ReadonlyMap<unknown, TypeValidator> {
  const ajv = createAnnotationAjv();
  const validators = new Map<unknown, TypeValidator>();
  for (const [type, schema] of elementSchemas(brand)) {
    let validate: ValidateFunction | undefined;
    validators.set(type, {
      accepts: compileCheck(schema),
      findError(element) {
        validate ??= ajv.compile(schema);
        return validate(element) ? null : (validate.errors?.[0] ?? null);
      },
    });
  }
  return validators;
}

/**
 * Makes a validator for single elements, such as the elements of a document that is checked while it arrives. Making a validator takes
 * time, so keep the validator.
 *
 * @param brand the host's brand. The overlays' field for the id of an item is named after the brand.
 * @param makeError by default {@link schemaError}, for create and PUT.
 */
export function createElementValidator(brand: string, makeError: MakeError = schemaError): ElementValidator {
  const validators = createTypeValidators(brand);
  const types = [...elementSchemas(brand).keys()].join(', ');
  return (value, index, nameOf = nameByIndex) => {
    const subject = nameOf(index);
    if (!isObject(value)) throw makeError(`${subject}: must be an object, not ${describeValue(value)}`);
    const element = dropPrivateKeys(value);
    const type = element.type;
    const validator = validators.get(type);
    if (validator === undefined) {
      const requirement = type === undefined ? 'is required; it must be' : 'must be';
      const actual = type === undefined ? '' : `, not ${describeValue(type)}`;
      throw makeError(`${subject}.type: ${requirement} one of ${types}${actual}`);
    }
    if (!validator.accepts(element)) {
      const error = validator.findError(element);
      if (error !== null) throw makeError(`${describeSchemaError(error, subject)} (element type ${String(type)})`);
    }
    // The element fits the schema of its type, so it has the TypeScript type.
    const typedElement = element as unknown as AnnotationElement;
    const brokenRule = checkRules(typedElement);
    if (brokenRule !== null) throw makeError(`${subject}${brokenRule} (element type ${typedElement.type})`);
    return typedElement;
  };
}

/**
 * Makes a validator for everything in a document except its elements: `elements` is ignored, other unknown keys are refused.
 *
 * @returns a function that throws the error from `makeError` if the value is not an object or a field breaks a rule.
 */
export function createHeadValidator(makeError: MakeError = schemaError): (value: unknown) => AnnotationHead {
  const ajv = createAnnotationAjv();
  // Problems with properties are reported before unknown keys.
  const fields = Object.entries(headProperties).map(([name, schema]) => ({ name, validate: ajv.compile(schema) }));
  const allowedKeys = [...Object.keys(headProperties), 'elements'];
  return (value) => {
    if (!isObject(value)) throw makeError(`document: must be an object, not ${describeValue(value)}`);
    for (const { name, validate } of fields) {
      if (!Object.hasOwn(value, name)) continue;
      if (!validate(value[name]) && validate.errors?.[0] !== undefined)
        throw makeError(describeSchemaError(validate.errors[0], name));
    }
    const brokenRule = value.attributes === undefined ? null : checkFreeForm(value.attributes, 'attributes');
    if (brokenRule !== null) throw makeError(brokenRule);
    const unexpectedKeys = Object.keys(value).filter((key) => !allowedKeys.includes(key));
    if (unexpectedKeys.length > 0) {
      const names = unexpectedKeys
        .slice(0, 8)
        .map((key) => describeValue(key))
        .join(', ');
      const verb = unexpectedKeys.length === 1 ? 'was' : 'were';
      throw makeError(
        `document: Additional properties are not allowed (${names} ${verb} unexpected; allowed: ${allowedKeys.join(', ')})`,
      );
    }
    return value;
  };
}

/**
 * Makes a validator for whole documents. It checks the head, then each element, then that ids are unique. The elements of the result
 * have no keys that begin with `_`; `elements` is absent if the document has none.
 */
export function createDocumentValidator(
  brand: string,
  makeError: MakeError = schemaError,
): (value: unknown) => AnnotationDocument {
  const checkHead = createHeadValidator(makeError);
  const checkElement = createElementValidator(brand, makeError);
  return (value) => {
    const head = checkHead(value);
    if (!Object.hasOwn(head, 'elements')) return head;
    const { elements } = head as { elements?: unknown };
    if (!Array.isArray(elements)) throw makeError(`elements: must be an array, not ${describeValue(elements)}`);
    const checkedElements = elements.map((element, index) => checkElement(element, index));
    requireUniqueIds(checkedElements, makeError);
    return { ...head, elements: checkedElements };
  };
}

/** @throws the error from `makeError` if two elements have the same id. */
function requireUniqueIds(elements: Iterable<AnnotationElement>, makeError: MakeError = schemaError): void {
  const ids = new ElementIds();
  let index = 0;
  for (const { id } of elements) {
    if (id !== undefined && !ids.add(id)) throw duplicateIdError(id, index, makeError);
    index += 1;
  }
}

/** The error for an id that an earlier element has. Its message begins as existing clients expect, and then names the element. */
export function duplicateIdError(id: string, index: number, makeError: MakeError = schemaError): Error {
  return makeError(`${idsNotUniqueMessage}: elements[${index}].id repeats "${id}"`);
}
