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
} from '../../../src/viewer/languages/catalog.js';
import { german } from '../../../src/viewer/languages/german.js';
import { accountTexts, browseTexts, commonTexts } from '../../../src/viewer/texts.js';

const root = 'src/viewer/';
const sources = (readdirSync(root, { recursive: true }) as string[]).filter((name) => /(?<!\.d)\.ts$/.test(name));
const parse = (name: string) =>
  ts.createSourceFile(name, readFileSync(root + name, 'utf8'), ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);

/** Strings that read like texts, but are names of programs, parts of addresses, keys, classes or units. */
const names: ReadonlySet<string> = new Set([
  'Python',
  'QuPath',
  'Vitessce',
  'WebP',
  'napari --plugin napari-ome-zarr "',
  'import zarr\nimage = zarr.open_group("',

  'Frame',
  'Blues',
  'Reds',
  'ApiError',
  'Bearer ',
  'Basic ',
  'meta.',
  'view-link.',
  '/table.',
  '"type":"FeatureCollection","features":',

  'token ',
  'columns ',
  'preset ',
  'legend ',
  'button ',
  'annotation edited',
  'toast surface raised row',
  'scroll positions',
  'keep view',

  ' px',
  'px ',
  ' px²',
  'Helvetica, Arial, Liberation Sans, sans-serif',
  ' mm²',
  ' µm²',
  'px system-ui, sans-serif',
  '600 13px system-ui, sans-serif',
  'linear-gradient(to right, ',
]);

/** Files with texts, the types of responses, and the writers of PDF and SVG, whose words are for programs. */
const holdsOtherWords = /texts\.ts$|^languages\/|^answer-types|^figure\/(pdf|svg)\.ts$/;

/** Functions whose arguments are selectors, names of headers and the like. */
const takesNames = /\.(querySelector(All)?|closest|get|startsWith|endsWith|includes|setRequestHeader|is)$|^matchMedia$/;

/** The strings of a source file that read like texts of the page, one per line. */
function textsIn(name: string): string[] {
  const file = parse(name);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isCallExpression(node) && takesNames.test(node.expression.getText().replace('?.', '.'))) return visit(node.expression);
    if (ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText())) return;
    if (ts.isPropertyAssignment(node)) return visit(node.initializer);
    const isPart = ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
    if ((ts.isStringLiteralLike(node) || isPart) && readsAsText(node.text, isPart) && !names.has(node.text))
      texts.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${JSON.stringify(node.text)}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return texts;
}

/** Whether a string has a capitalized word or two words, or is part of a sentence around a value. */
function readsAsText(text: string, isPart: boolean): boolean {
  if (/^(Index[A-Z]+|[A-Z]\w+(-[A-Z]\w+)+)$/.test(text)) return false;
  return (
    /(^|[^\w.#-])\p{Lu}\p{Ll}{2,}/u.test(text) ||
    /\p{L}{2,}[,.:;!?…]? \p{L}{2,}/u.test(text) ||
    (isPart && /^ ?\p{L}{2,} $|^ \p{L}{2,}/u.test(text)) ||
    /\p{Ll}[.…!?]$/u.test(text)
  );
}

// Other files of this process expect English.
afterEach(() => useLanguage('en'));

describe('the language of the page', () => {
  beforeAll(() => {
    const french = {
      commonTexts: { cancel: 'Annuler', copy: () => 'no text' },
      browseTexts: { sorts: { name: 'Nom' }, selected: (count: number) => `${count} choisis` },
      nothing: { of: 'this' },
    };
    addTranslation('fr', french as unknown as Translation);
  });

  it('uses the texts of a translation, and English ones where they are missing or not text', async () => {
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

  it('is English if its texts cannot be loaded, and otherwise the one that was requested last', async () => {
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
  const translated = new Map(flat(german));

  it('are complete, also in tables with any rows', () => {
    const missing = flat(currentTexts).filter(([path, text]) => typeof text !== typeof translated.get(path));
    expect(missing.map(([path]) => path)).toEqual([]);
  });

  it('use all parameters of their functions', () => {
    const other = flat(currentTexts).filter(([path, count]) => typeof count === 'number' && translated.get(path) !== count);
    expect(other.map(([path]) => path)).toEqual([]);
  });

  it('are not English, and have German quotation marks and ellipses', () => {
    const english = flat(currentTexts).filter(
      ([path, text]) => /\p{L}{3,} \p{L}{2,}/u.test(String(text)) && text === translated.get(path),
    );
    expect(english).toEqual([]);
    const sources = readdirSync(`${root}languages/de`).map((name) => readFileSync(`${root}languages/de/${name}`, 'utf8'));
    for (const source of sources) expect(source).not.toMatch(/”|[a-zß]…['`]/);
  });
});

describe('the sources of the page', () => {
  it('read no text while they are loaded, because its language is not known yet', () => {
    const texts: string[] = [];
    for (const name of sources.filter((name) => !/(texts\.ts|^languages\/.*)$/.test(name))) {
      const file = parse(name);
      const visit = (node: ts.Node): void => {
        if (ts.isFunctionLike(node) || ts.isImportDeclaration(node) || ts.isPropertyDeclaration(node)) return;
        const { line } = file.getLineAndCharacterOfPosition(node.getStart());
        if (ts.isIdentifier(node) && node.text.endsWith('Texts')) texts.push(`${name}:${line + 1} ${node.parent.getText()}`);
        ts.forEachChild(node, visit);
      };
      visit(file);
    }
    expect(texts).toEqual([]);
  });

  it('contain no texts', () => {
    const texts = sources.filter((name) => !holdsOtherWords.test(name)).flatMap(textsIn);
    expect(texts).toEqual([]);
  });

  it('have every file with texts in the catalog', () => {
    const catalog = readFileSync(`${root}languages/catalog.ts`, 'utf8');
    const files = sources.filter((name) => /^[^/]*texts\.ts$/.test(name));
    expect(files.length).toBeGreaterThan(4);
    for (const name of files) expect(catalog).toContain(`'../${name.replace(/ts$/, 'js')}'`);
  });
});

it.each(['en', 'de'])('has the visible text in the longer name of each button, in the language %s', async (language) => {
  await useLanguage(language);
  const { adminTexts, browseTexts, commonTexts, imageTexts, openInTexts } = currentTexts;
  const names: [string, string][] = [
    [adminTexts.admit, adminTexts.admitNamed('A')],
    [commonTexts.refresh, adminTexts.refreshCaches],
    [commonTexts.refresh, adminTexts.refreshJobs],
    [commonTexts.refresh, adminTexts.refreshCounts],
    [commonTexts.tryAgain, adminTexts.labelWithName(commonTexts.tryAgain, 'A')],
    [browseTexts.restore, browseTexts.restoreNamed('A')],
    [browseTexts.deleteForGood, browseTexts.deleteForGoodNamed('A')],
    [openInTexts.revoke, openInTexts.revokeNamed('A')],
    [imageTexts.only, imageTexts.onlyChannel('A')],
    [imageTexts.automatic, imageTexts.automaticContrastOf('A')],
  ];
  expect(names.filter(([text, name]) => !name.toLowerCase().includes(text.toLowerCase()))).toEqual([]);
});
