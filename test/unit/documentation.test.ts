import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { collectionNames } from '../../src/core/database/own-collections.js';
import { settingDefinitions } from '../../src/features/settings/definitions.js';
import { coreSettingDefinitions } from '../../src/reference-host/system/settings.js';

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

describe('documentation', () => {
  it('shows code that compiles', { timeout: 120_000 }, async () => {
    const modules = new Map((await Promise.all(pages.map(snippets))).flatMap((found) => [...found]));
    expect(modules.size).toBeGreaterThan(4);
    // The check itself works.
    const wrong = join(root, 'wrong.ts');
    const problems = compile(
      modules.set(wrong, "import { install } from 'express-large-image';\nawait install(7);\nexport {};\n"),
    );
    expect(problems).toEqual([expect.stringMatching(/^[^:]*wrong\.ts: /)]);
  });

  it('names every member of Host and every option of install', async () => {
    const page = await read('docs/hosts.md');
    const membersOf = async (path: string, name: string) => {
      const source = ts.createSourceFile(path, await read(path), ts.ScriptTarget.ES2022);
      const found = source.statements.filter(ts.isInterfaceDeclaration).find((statement) => statement.name.text === name);
      return (found?.members ?? []).map((member) => (member.name as ts.Identifier).text);
    };
    const members = await membersOf('src/host.ts', 'Host');
    expect(members).toContain('apiRoot');
    expect(members.filter((member) => !page.includes(`| \`${member}\` |`))).toEqual([]);
    const options = await membersOf('src/installation.ts', 'InstallOptions');
    expect(options).toContain('tileSources');
    expect(options.filter((option) => !page.includes(`\`${option}\``))).toEqual([]);
  });

  it('names every collection of the plugin, and no other', async () => {
    const named = [...(await read('docs/hosts.md')).matchAll(/`large_image_(\w+)`/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(collectionNames));
  });

  it.each([
    ['README.md', settingDefinitions({ folderExists: async () => true })],
    ['docs/reference-host.md', coreSettingDefinitions],
  ])('has in %s the table of settings that the definitions give (UPDATE_DOCS=1 writes it)', async (path, definitions) => {
    const page = await read(path);
    const shown = (value: unknown) => (value === null ? '' : `\`${JSON.stringify(value)}\``);
    const rows = definitions.map(
      ({ key, default: byDefault, allowed, description }) => `| \`${key}\` | ${shown(byDefault)} | ${description} | ${allowed} |`,
    );
    const table = ['| Setting | Default | Meaning | Allowed |', '| --- | --- | --- | --- |', ...rows].join('\n');
    const updated = page.replace(/(?<=<!-- settings -->\n).*(?=<!-- \/settings -->)/s, () => `${table}\n`);
    if (process.env.UPDATE_DOCS === '1') await writeFile(join(root, path), updated);
    else expect(page).toBe(updated);
    expect(updated).toContain(table);
  });
});
