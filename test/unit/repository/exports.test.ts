import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const readText = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** The names in the `export … from` statements of a module. */
function namesIn(path: string): string[] {
  const lists = Array.from(readText(path).matchAll(/^export (?:type )?\{([^}]*)\}/gm), ([, list]) => list!);
  return lists.flatMap((list) => Array.from(list.matchAll(/(?:type )?(\w+)(?:,|\s*$)/g), ([, name]) => name!));
}

it('exports from the root what every host and tile source needs, and from /host what larger hosts use', () => {
  const [root, larger] = [namesIn('src/index.ts'), namesIn('src/larger-host.ts')];
  expect(root).toEqual(expect.arrayContaining(['install', 'Host', 'TileSourceDefinition', 'LargeImageError']));
  expect(root.length).toBeLessThanOrEqual(80);
  expect(larger).toEqual(expect.arrayContaining(['mountRoutes', 'routeDefiner', 'BadParameterError']));
  expect(root.filter((name) => larger.includes(name))).toEqual([]);
});

it('has the same entries in exports, typesVersions and the documentation', () => {
  const { exports, typesVersions } = JSON.parse(readText('package.json')) as {
    exports: Record<string, unknown>;
    typesVersions: { '*': Record<string, unknown> };
  };
  const entries = ['host', 'reference-host', 's3', 'testing', 'viewer', 'viewer/react'];
  expect(Object.keys(exports)).toEqual(['.', ...entries.map((entry) => `./${entry}`), './package.json']);
  expect(Object.keys(typesVersions['*'])).toEqual(entries);
  const [, section = ''] = readText('docs/hosts.md').split('## Entries of the package\n');
  for (const entry of entries) expect(section).toContain(`| \`express-large-image/${entry}\` |`);
});
