import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { collectionNames } from '../../../src/core/database/own-collections.js';
import { settingDefinitions } from '../../../src/features/settings/definitions.js';
import { describeSettings } from '../../../src/configuration-text/read-settings.js';
import { environmentVariables } from '../../../src/reference-host/start/options.js';
import { coreSettingDefinitions } from '../../../src/reference-host/system/settings.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const read = (path: string) => readFile(join(root, path), 'utf8');
describe('documentation', () => {
  it('names every member of Host and every option of install', async () => {
    const page = await read('docs/hosts.md');
    const membersOf = async (path: string, name: string) => {
      const source = ts.createSourceFile(path, await read(path), ts.ScriptTarget.ES2022);
      const declaration = source.statements.filter(ts.isInterfaceDeclaration).find((statement) => statement.name.text === name);
      return (declaration?.members ?? []).map((member) => (member.name as ts.Identifier).text);
    };
    const members = await membersOf('src/host.ts', 'Host');
    expect(members).toContain('apiRoot');
    expect(members.filter((member) => !page.includes(`| \`${member}\` |`))).toEqual([]);
    const options = await membersOf('src/installation.ts', 'InstallOptions');
    expect(options).toContain('tileSources');
    expect(options.filter((option) => !page.includes(`\`${option}\``))).toEqual([]);
  });

  it('has links that lead somewhere, and every page in its table of contents', async () => {
    const pages = (await readdir(join(root, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md'));
    const broken: string[] = [];
    const named = new Set<string>();
    for (const page of [
      'README.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      ...pages.map((name) => join('docs', name)),
    ]) {
      for (const [, link] of (await read(page)).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
        const [path = '', anchor] = link!.split('#');
        const target = path === '' ? page : join(dirname(page), path);
        if (page === 'docs/README.md') named.add(target);
        const headings = target.endsWith('.md') && existsSync(join(root, target)) ? (await read(target)).match(/^#+ .*/gm)! : [];
        // These are the anchors that GitHub makes from headings.
        const anchors = headings.map((heading) =>
          heading
            .replace(/^#+ /, '')
            .toLowerCase()
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        );
        if (!existsSync(join(root, target)) || (anchor !== undefined && !anchors.includes(anchor)))
          broken.push(`${page}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
    expect(pages.filter((name) => name !== 'README.md' && !named.has(join('docs', name)))).toEqual([]);
  });

  it('names only existing files of this repository', async () => {
    const folders = ['src', 'test', 'bench', 'examples', 'deploy'];
    const listed = await Promise.all(folders.map((folder) => readdir(join(root, folder), { recursive: true })));
    const paths = listed.flatMap((names, i) => names.map((name) => join(folders[i]!, name)));
    const pages = (await readdir(join(root, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md'));
    const wrong: string[] = [];
    for (const page of ['README.md', ...pages.map((name) => join('docs', name))]) {
      for (const [, path] of (await read(page)).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)) {
        if (!paths.some((there) => `/${there}`.endsWith(`/${path}`))) wrong.push(`${page}: ${path}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('names every collection of the plugin, and no other', async () => {
    const named = [...(await read('docs/hosts.md')).matchAll(/`large_image_(\w+)`/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(collectionNames));
  });

  it('lists every setting in docs/settings.md as its definition describes it (UPDATE_DOCS=1 writes the table)', async () => {
    const shown = (value: unknown) => (value === null || value === '' ? '' : `\`${JSON.stringify(value)}\``);
    const cell = (text: string) => text.replaceAll('|', '\\|');
    const ofFile = describeSettings().map(({ key, description, allowed, default: byDefault }) => {
      // The default of this one depends on the memory of the machine.
      const usual =
        key === 'max_annotation_input_file_length' ? '1 GiB, or a sixteenth of the memory if that is more' : shown(byDefault);
      return `| ${cell(description)} | \`LARGE_IMAGE_${key.toUpperCase()}\` | \`[large_image] ${key}\` | | ${cell(usual)} | ${cell(allowed)} | at startup |`;
    });
    const ofEnvironment = environmentVariables.map(
      ([name, byDefault, meaning]) =>
        `| ${cell(meaning)} | \`${name}\` | | | ${byDefault === '' ? '' : `\`${byDefault}\``} | | at startup |`,
    );
    const stored = [...settingDefinitions({ folderExists: async () => true }), ...coreSettingDefinitions];
    const ofServer = stored.map(
      ({ key, default: byDefault, description, allowed }) =>
        `| ${cell(description)} | | | \`${key}\` | ${shown(byDefault)} | ${cell(allowed)} | immediately |`,
    );
    const table = [
      '| What | Environment | File | `system/setting` | Default | Allowed | Takes effect |',
      '| --- | --- | --- | --- | --- | --- | --- |',
      ...ofEnvironment,
      ...ofFile,
      ...ofServer,
    ].join('\n');
    const page = await read('docs/settings.md');
    const updated = page.replace(/(?<=<!-- settings -->\n).*(?=<!-- \/settings -->)/s, () => `${table}\n`);
    if (process.env.UPDATE_DOCS === '1') await writeFile(join(root, 'docs/settings.md'), updated);
    else expect(page).toBe(updated);
    expect(updated).toContain(table);
  });
});
