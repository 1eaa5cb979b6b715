import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const read = (path: string) => readFile(join(root, path), 'utf8');
const pages = ['README.md', 'docs/hosts.md', 'docs/tile-sources.md', 'docs/testing.md'];

/** The TypeScript of a page, block by block, as modules that lie beside package.json. */
async function snippets(page: string): Promise<Map<string, string>> {
  const blocks = [...(await read(page)).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  return new Map(blocks.map((code, i) => [join(root, `${page.replaceAll('/', '-')}-${i + 1}.ts`), `${code}\nexport {};\n`]));
}

/** What the compiler says of modules that exist in memory only. */
function compile(modules: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, noUnusedLocals: false }, root);
  const host = ts.createCompilerHost(options);
  const withModules: ts.CompilerHost = {
    ...host,
    fileExists: (path) => modules.has(path) || host.fileExists(path),
    readFile: (path) => modules.get(path) ?? host.readFile(path),
    getSourceFile: (path, target, ...rest) => {
      const text = modules.get(path);
      return text === undefined ? host.getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target);
    },
  };
  const program = ts.createProgram([...modules.keys()], options, withModules);
  return [...modules.keys()]
    .flatMap((path) => ts.getPreEmitDiagnostics(program, program.getSourceFile(path)))
    .map(({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
}

it('documentation shows code that compiles', { timeout: 120_000 }, async () => {
  const modules = new Map((await Promise.all(pages.map(snippets))).flatMap((found) => [...found]));
  expect(modules.size).toBeGreaterThan(4);
  // The check itself works.
  const wrong = join(root, 'wrong.ts');
  const problems = compile(modules.set(wrong, "import { install } from 'express-large-image';\nawait install(7);\nexport {};\n"));
  expect(problems).toEqual([expect.stringMatching(/^[^:]*wrong\.ts: /)]);
});
