import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatBytes, formatCount } from '../../../src/viewer/format.js';
import {
  addTranslation,
  currentLanguage,
  currentTexts,
  useLanguage,
  type Translation,
} from '../../../src/viewer/languages/catalogue.js';
import { german } from '../../../src/viewer/languages/german.js';
import { accountTexts, browseTexts, commonTexts } from '../../../src/viewer/texts.js';

const root = 'src/viewer/';
const sources = (readdirSync(root, { recursive: true }) as string[]).filter((name) => /(?<!\.d)\.ts$/.test(name));
const parse = (name: string) =>
  ts.createSourceFile(name, readFileSync(root + name, 'utf8'), ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);

describe('the language of the page', () => {
  beforeAll(() => {
    const french = {
      commonTexts: { cancel: 'Annuler', copy: () => 'no text' },
      browseTexts: { sorts: { name: 'Nom' }, selected: (count: number) => `${count} choisis` },
      nothing: { of: 'this' },
    };
    addTranslation('fr', french as unknown as Translation);
  });
  afterEach(() => useLanguage('en'));

  it('has the texts of a translation, and English ones for those that are left out or no texts', async () => {
    await useLanguage('fr');
    expect([commonTexts.cancel, commonTexts.close, commonTexts.copy]).toEqual(['Annuler', 'Close', 'Copy']);
    expect(browseTexts.sorts).toEqual({ name: 'Nom', newest: 'Newest first', largest: 'Largest first' });
    expect(browseTexts.selected(3)).toBe('3 choisis');
    expect(accountTexts.signIn).toBe('Sign in');
    await useLanguage('en');
    expect([commonTexts.cancel, browseTexts.sorts.name, browseTexts.selected(3)]).toEqual(['Cancel', 'Name', '3 selected']);
  });

  it.each([
    ['fr', 'fr'],
    ['FR-ca', 'fr'],
    ['fr-CH-x-private', 'fr'],
    ['fr_CH', 'en'],
    ['french', 'en'],
    ['fr-', 'fr'],
    ['en-GB', 'en'],
    ['', 'en'],
    ['-', 'en'],
    ['toString', 'en'],
  ])('for the tag %j is %s', async (tag, language) => {
    await useLanguage(tag);
    expect(currentLanguage()).toBe(language);
  });

  it('is English if its texts cannot be loaded, and the one that was asked for last', async () => {
    addTranslation('xx', () => Promise.reject(new Error('offline')));
    addTranslation('yy', () => new Promise((resolve) => setTimeout(resolve, 20, { commonTexts: { cancel: 'Yy' } })));
    await useLanguage('fr');
    await useLanguage('xx');
    expect([currentLanguage(), commonTexts.cancel]).toEqual(['en', 'Cancel']);
    await Promise.all([useLanguage('yy'), useLanguage('fr')]);
    expect([currentLanguage(), commonTexts.cancel]).toEqual(['fr', 'Annuler']);
  });

  it('decides how numbers are written', async () => {
    expect([formatBytes(1_938_955), formatCount(46_000)]).toEqual(['1.94 MB', '46\u2009000']);
    await useLanguage('fr');
    expect([formatBytes(1_938_955), formatCount(46_000)]).toEqual(['1,94 MB', '46\u2009000']);
  });
});

/** All texts by path, such as `browseTexts.sorts.name`; a function is its number of parameters. */
function flat(texts: object, path = ''): [string, string | number][] {
  return Object.entries(texts).flatMap(([name, text]) => {
    if (typeof text === 'function') return [[path + name, (text as (...values: never) => string).length]];
    return typeof text === 'object' ? flat(text as object, `${path + name}.`) : [[path + name, text as string]];
  });
}

describe('the German texts', () => {
  // These are the same in both languages, or names.
  const isSame =
    /^([A-Z][a-z]+|[A-Z]+|OK|[VREPLOBM ]+|[^a-z]*|GeoJSON|Parquet|Min|Band|Upload.*|Login.*|Status|Server|.*px|CSV|\?|Alt)$/;
  const translated = new Map(flat(german));

  it('are complete, also in tables with any rows', () => {
    const missing = flat(currentTexts).filter(([path, text]) => typeof text !== typeof translated.get(path));
    expect(missing.map(([path]) => path)).toEqual([]);
  });

  it('use what the functions are given', () => {
    const other = flat(currentTexts).filter(([path, count]) => typeof count === 'number' && translated.get(path) !== count);
    expect(other.map(([path]) => path)).toEqual([]);
  });

  it('are not English, and have German quotation marks and ellipses', () => {
    const english = flat(currentTexts).filter(
      ([path, text]) => typeof text === 'string' && text === translated.get(path) && !isSame.test(text),
    );
    expect(english).toEqual([]);
    const sources = readdirSync(`${root}languages/de`).map((name) => readFileSync(`${root}languages/de/${name}`, 'utf8'));
    for (const source of sources) expect(source).not.toMatch(/”|[a-zß]…['`]/);
  });
});

describe('the sources of the page', () => {
  it('read no text while they are loaded, because its language is not known yet', () => {
    const found: string[] = [];
    for (const name of sources.filter((one) => !/(texts\.ts|^languages\/.*)$/.test(one))) {
      const file = parse(name);
      const visit = (node: ts.Node): void => {
        if (ts.isFunctionLike(node) || ts.isImportDeclaration(node) || ts.isPropertyDeclaration(node)) return;
        const { line } = file.getLineAndCharacterOfPosition(node.getStart());
        if (ts.isIdentifier(node) && node.text.endsWith('Texts')) found.push(`${name}:${line + 1} ${node.parent.getText()}`);
        ts.forEachChild(node, visit);
      };
      visit(file);
    }
    expect(found).toEqual([]);
  });

  it('have every file with texts in the catalogue', () => {
    const catalogue = readFileSync(`${root}languages/catalogue.ts`, 'utf8');
    const files = sources.filter((name) => /^[^/]*texts\.ts$/.test(name));
    expect(files.length).toBeGreaterThan(4);
    for (const name of files) expect(catalogue).toContain(`'../${name.replace(/ts$/, 'js')}'`);
  });
});
