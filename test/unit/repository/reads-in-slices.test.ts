import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../../src', import.meta.url));
const modules = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.startsWith('viewer') && !name.startsWith('configuration-text'),
);

it('documents are read one by one only in code that yields the event loop in between', () => {
  const using = modules.filter((name) => readFileSync(join(source, name), 'utf8').includes('.cursor('));
  expect(using).toEqual(['core/database/read-limits.ts']);
});
