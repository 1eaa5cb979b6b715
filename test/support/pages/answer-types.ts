import openapiTS, { astToString } from 'openapi-typescript';

type Operation = { responses: Record<string, { content?: Record<string, { schema?: object }> }> };

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

const heading = `// Made by test/rest/host/api-description.test.ts from the description of the API. To renew it: npx vitest run -u test/rest/host/api-description.test.ts
`;

/** A copy without descriptions, and without the members that schemas allow and do not name: the page needs only the types. */
function namedOnly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(namedOnly);
  if (typeof value !== 'object' || value === null) return value;
  const isOpen = 'properties' in value && 'additionalProperties' in value && value.additionalProperties === true;
  const isLeftOut = (key: string, member: unknown) =>
    (key === 'description' && typeof member === 'string') || (key === 'additionalProperties' && isOpen);
  const entries = Object.entries(value).filter(([key, member]) => !isLeftOut(key, member));
  return Object.fromEntries(entries.map(([key, member]) => [key, namedOnly(member)]));
}

/** TypeScript with the type of each JSON answer, by method and path, for the page. */
export async function answerTypes({ paths, components }: Description): Promise<string> {
  const answers: Record<string, object> = {};
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      const [, good] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
      const schema = good?.content?.['application/json']?.schema;
      if (schema) answers[`${method.toUpperCase()} ${path.slice(1)}`] = schema;
    }
  }
  const schemas = {
    ...components.schemas,
    Answers: { type: 'object', properties: answers, required: Object.keys(answers) },
  };
  const document = { openapi: '3.1.0', info: { title: 'answers', version: '1' }, paths: {}, components: { schemas } };
  const code = astToString(await openapiTS(namedOnly(document) as never));
  const [made] = /^export interface components \{$[^]*?^\}$/m.exec(code) ?? [];
  return `${heading}${made}\n`;
}
