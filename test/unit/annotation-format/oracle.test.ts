import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { schemaFor } from '../../../src/annotation-format/schema/document.js';
import { createDocumentValidator } from '../../../src/annotation-format/validate.js';
import { BadParameterError } from '../../../src/errors.js';
import { oracle, oracleTable } from '../../support/annotations/annotation-oracle.js';
import { mutant, mutants, type Mutant } from '../../support/annotations/annotation-mutants.js';
import { allTypes, anyElement } from './arbitraries.js';
import { fullElements } from './samples.js';
import { casesOf, sampleOf } from '../../support/run/sample.js';

type Json = Record<string, unknown>;
const validate = createDocumentValidator('service');
// The schema as a client uses it, without our options and with the draft of its choice.
const served = JSON.parse(JSON.stringify(schemaFor('service'))) as Json;
const servedValidators = [new Ajv().compile(served), new Ajv2020().compile(served)];

function refusal(document: unknown): string | null {
  try {
    validate(document);
    return null;
  } catch (error) {
    if (error instanceof BadParameterError) return error.message;
    throw error;
  }
}

/** Verdicts that differ from the verdicts of the tables. */
class Comparison {
  readonly differences: string[] = [];
  accepted = 0;
  refused = 0;

  /** @returns why the document is refused; `null` if it is not. */
  compare(document: Json, description: string): string | null {
    const expected = oracle(document);
    const message = refusal(document);
    if (message === null) this.accepted += 1;
    else this.refused += 1;
    if ((message === null) !== expected.all) this.differences.push(`${description}: ${message ?? 'accepted'}`);
    if (servedValidators.some((isValid) => isValid(document) !== expected.schema)) {
      this.differences.push(`${description}: the served schema`);
    }
    return message;
  }
}

/** Whether an error names the index, type and member of the element, and what is allowed. */
function isClear(message: string, { member, element }: Mutant): boolean {
  if (!/^Validation Error: JSON doesn't follow schema \(elements\[2\][.:].*\)$/s.test(message)) return false;
  if (!/must (be|have|not) |is required|allowed: /.test(message)) return false;
  if (member === 'type') return true;
  // Members that belong together: an error in one may be reported for another.
  const related = ['colorRange', 'interpretation', 'stepped'].includes(member) ? 'rangeValues' : 'values';
  return message.includes(`(element type ${String(element.type)})`) && [member, related].some((name) => message.includes(name));
}

describe('the validator and the tables of the format agree', () => {
  test('on the types of elements', () => {
    expect(Object.keys(oracleTable).toSorted()).toEqual(Object.keys(fullElements).toSorted());
  });

  test.each(sampleOf(allTypes, 4))(
    'on %s with every member missing, extra, of every wrong kind, at and past its limits',
    (type) => {
      const { required, optional } = oracleTable[type]!;
      const allowed = [...Object.keys(required), ...Object.keys(optional), 'id', 'label', 'group', 'user', 'type'];
      const comparison = new Comparison();
      const unclear: string[] = [];
      for (const mutated of mutants(fullElements[type], allowed)) {
        // The element is in the middle, so that its index matters.
        const elements = [fullElements.point, fullElements.circle, mutated.element, fullElements.point];
        const message = comparison.compare({ name: 'n', elements }, mutated.what);
        if (message !== null && !isClear(message, mutated)) unclear.push(`${mutated.what}: ${message}`);
      }
      expect(comparison.differences).toEqual([]);
      expect(unclear).toEqual([]);
      expect(comparison.refused).toBeGreaterThan(1000);
      expect(comparison.accepted).toBeGreaterThan(20);
    },
  );

  test('on heads of documents', () => {
    const comparison = new Comparison();
    const values = [null, '', 'a', 'old', 'true', 0, 1, true, false, [], {}, { visible: true }, { visible: 'new' }];
    for (const key of ['name', 'description', 'display', 'attributes', 'elements', 'id', 'type', '_id']) {
      for (const value of values) comparison.compare({ [key]: value }, `${key}: ${JSON.stringify(value)}`);
    }
    for (const visible of values) comparison.compare({ display: { visible } }, JSON.stringify(visible));
    comparison.compare({ display: { visible: true, shown: 1 } }, 'extra');
    expect(comparison.differences).toEqual([]);
  });

  test('on generated documents with up to two changes in an element', () => {
    const changes = fc.array(fc.nat(1_000_000), { maxLength: 2 });
    const element = fc
      .tuple(anyElement, changes)
      .map(([valid, choices]) => choices.reduce((element, choice) => mutant(element, choice).element, valid as unknown as Json));
    const comparison = new Comparison();
    fc.assert(
      fc.property(fc.array(element, { maxLength: 3 }), (elements) => {
        comparison.compare({ elements }, JSON.stringify(elements));
        return comparison.differences.length === 0;
      }),
      { numRuns: casesOf(1000, 1 / 4) },
    );
    expect(Math.min(comparison.refused, comparison.accepted)).toBeGreaterThan(25);
  });
});
