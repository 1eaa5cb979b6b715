import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { parseYaml } from '../../../src/core/yaml.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const read = (path: string) => readFile(join(root, path), 'utf8');

/** Every page that users read. */
async function pages(): Promise<string[]> {
  const docs = await readdir(join(root, 'docs'), { recursive: true });
  return [
    'README.md',
    'CHANGELOG.md',
    'SECURITY.md',
    ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
  ];
}

/** The code blocks of all pages in a language. */
async function blocks(language: string): Promise<{ page: string; code: string }[]> {
  const blocksByPage = (await pages()).map(async (page) =>
    [...(await read(page)).matchAll(/^```(\w*)\n(.*?)^```$/gms)]
      .filter(([, name]) => name === language)
      .map(([, , code = '']) => ({ page, code })),
  );
  return (await Promise.all(blocksByPage)).flat();
}

/** The TypeScript of all pages, block by block, as modules next to package.json. */
async function snippets(): Promise<Map<string, string>> {
  const tsBlocks = await blocks('ts');
  return new Map(
    tsBlocks.map(({ page, code }, i) => [join(root, `${page.replaceAll('/', '-')}-${i + 1}.ts`), `${code}\nexport {};\n`]),
  );
}

/** The messages of the compiler about modules that exist only in memory. */
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

it('the documentation shows code that compiles', async () => {
  const modules = await snippets();
  expect(modules.size).toBeGreaterThan(4);
  // The check itself works.
  const wrong = join(root, 'wrong.ts');
  const problems = compile(modules.set(wrong, "import { install } from 'express-large-image';\nawait install(7);\nexport {};\n"));
  expect(problems).toEqual([expect.stringMatching(/^[^:]*wrong\.ts: /)]);
});

it('the documentation shows valid YAML and JSON', async () => {
  for (const { page, code } of await blocks('yaml'))
    expect({ page, value: parseYaml(code, page) }).toEqual({ page, value: expect.anything() });
  for (const { page, code } of await blocks('json')) {
    expect({ page, value: JSON.parse(code) as unknown }).toEqual({ page, value: expect.anything() });
  }
});

it('the documentation names only packages, scripts and commands that exist', async () => {
  const manifest = JSON.parse(await read('package.json')) as Record<
    'scripts' | 'dependencies' | 'devDependencies' | 'peerDependencies',
    Record<string, string>
  >;
  const { scripts, dependencies, devDependencies, peerDependencies } = manifest;
  const installed = new Set(Object.keys({ 'express-large-image': '', ...dependencies, ...devDependencies, ...peerDependencies }));
  const commands = [...(await read('src/cli/cli.ts')).matchAll(/\.command\('([\w-]+)/g)].map(([, name]) => name!);
  expect(commands).toHaveLength(4);
  const lines = (await blocks('sh')).flatMap(({ page, code }) =>
    code
      .split('\n')
      .flatMap((line) => line.replace(/ #.*/, '').split('&&'))
      .map((line) => ({ page, words: line.trim().split(/\s+/) })),
  );
  /** Whether a command of npm or of the package does not exist. Other programs are not checked. */
  const isWrong = ([program, first = '', second = '', ...more]: string[]): boolean => {
    if (program === 'npx' && first === 'express-large-image') return second !== '--help' && !commands.includes(second);
    if (program !== 'npm' || ['ci', 'init', 'link', 'pack', 'pkg'].includes(first)) return false;
    if (first !== 'install' && first !== 'i') return !Object.hasOwn(scripts, first === 'run' ? second : first);
    const names = [second, ...more].filter((name) => name !== '' && !/^[-.]/.test(name));
    return names.some((name) => !installed.has(name.replace(/(?<=.)@[\d^~].*$/, '')));
  };
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter(({ words }) => isWrong(words))).toEqual([]);
});
