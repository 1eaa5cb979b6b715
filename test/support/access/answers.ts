import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { RouteTable } from '../../../src/http/serving/route-table.js';
import { schemaOf, type RouteOutline } from '../../../src/larger-host.js';

/** Longest answer that is checked, because answers are checked in every test. */
const maxBytes = 128 * 1024;

/** Returns how a response differs from the description of the API; `null` if it does not. */
export type AnswerCheck = (
  method: string,
  path: string,
  answer: { status: number; bytes: Buffer; body: unknown },
) => string | null;

// Most schemas are used only a few times, so optimizing their code would take longer than it saves.
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false, code: { optimize: false } });
/** Compiled schemas by their text, because all hosts of a process declare the same ones. */
const compiled = new Map<string, ValidateFunction>();

function compile(schema: object): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile(schema);
  compiled.set(text, validate);
  return validate;
}

/** Checks answers against the schemas that routes declare. */
export function answerCheck(routes: readonly RouteOutline[], brand: string): AnswerCheck {
  const table = new RouteTable<RouteOutline>();
  for (const route of routes) table.add(route, route);
  const validators = new Map<RouteOutline, ValidateFunction>();
  const validatorOf = (route: RouteOutline, schema: Parameters<typeof schemaOf>[0]): ValidateFunction => {
    const validator = validators.get(route) ?? compile(schemaOf(schema, brand));
    validators.set(route, validator);
    return validator;
  };
  return (method, path, { status, bytes, body }) => {
    const route = table.find(method, path)?.value;
    if (status !== 200 || route === undefined || bytes.length === 0 || bytes.length > maxBytes || body === null) return null;
    if (!('schema' in route.returns))
      return `${method} ${path} answers JSON and does not say so: ${bytes.toString().slice(0, 300)}`;
    const validate = validatorOf(route, route.returns.schema);
    if (validate(body)) return null;
    const [first] = validate.errors ?? [];
    return `${method} ${path}: ${first?.instancePath ?? ''} ${first?.message ?? ''}, in ${bytes.toString().slice(0, 500)}`;
  };
}
