import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkSync } from 'recheck';
import ts from 'typescript';
import { expect, it } from 'vitest';

process.env.RECHECK_BACKEND = 'pure';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Expressions that were shown to take linear time. The proof takes up to several seconds for each. */
const ledger = join(root, 'test/full/costly/linear-expressions.json');

/** Regular expressions of the sources that may read an unlimited part of a text, and where they are. */
function expressions(): Map<string, string> {
  const places = new Map<string, string>();
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => /\.[tj]s$/.test(name));
  for (const name of files) {
    const source = ts.createSourceFile(name, readFileSync(join(root, 'src', name), 'utf8'), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
        if (/[*+]|,\}/.test(node.text.replace(/\\./g, ''))) places.set(node.text, `src/${name}:${line + 1}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return places;
}

/** The problem of an expression, or `null`. */
function fault(text: string): string | null {
  const end = text.lastIndexOf('/');
  const verdict = checkSync(text.slice(1, end), text.slice(end + 1), { timeout: 20_000 });
  if (verdict.status === 'safe') return null;
  return verdict.status === 'vulnerable' ? verdict.complexity.summary : 'cannot be decided: make it simpler';
}

it('no regular expression in the sources takes more than linear time', () => {
  const shown = new Set(JSON.parse(readFileSync(ledger, 'utf8')) as string[]);
  const placesByExpression = expressions();
  const faults = [...placesByExpression].flatMap(([text, place]) => {
    const wrong = shown.has(text) ? null : fault(text);
    return wrong === null ? [] : [`${place} ${text}: ${wrong}`];
  });
  expect(faults).toEqual([]);
  // With UPDATE_EXPRESSIONS=1, new ones are added to the list.
  if (process.env.UPDATE_EXPRESSIONS === '1')
    writeFileSync(ledger, `${JSON.stringify([...placesByExpression.keys()].sort(), null, 2)}\n`);
});

it('the check detects expressions that take quadratic time or worse', () => {
  expect(fault(String.raw`/^(\d+\.?\d*|\.\d+)$/`)).toContain('2nd degree');
  expect(fault(String.raw`/\/+$/`)).toContain('2nd degree');
  expect(fault('/^(a+)+$/')).toContain('exponential');
  expect(fault(String.raw`/^\d+$/`)).toBeNull();
});
