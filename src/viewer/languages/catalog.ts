import * as adminTexts from '../admin-texts.js';
import * as annotationTexts from '../annotation-texts.js';
import * as commentTexts from '../comment-texts.js';
import * as figureTexts from '../figure-texts.js';
import { useLocale } from '../format.js';
import * as objectTexts from '../object-texts.js';
import * as sharingTexts from '../sharing-texts.js';
import * as texts from '../texts.js';

/*
 * The texts of the page are constants in the files `*-texts.ts`, in English. When another language is used, the members of these constants are
 * replaced, so the rest of the page only reads the constants. Therefore, a module must not read texts while it is being loaded, because the language
 * is not known yet.
 */

/** The constants with texts, by name. They contain the texts of the current language. */
const textsByArea = {
  ...texts,
  ...adminTexts,
  ...annotationTexts,
  ...commentTexts,
  ...figureTexts,
  ...objectTexts,
  ...sharingTexts,
};

/** The same structure with any string in place of each text. */
type WithAnyText<T> = T extends string
  ? string
  : T extends (...values: infer Values) => unknown
    ? (...values: Values) => string
    : { [Member in keyof T]: WithAnyText<T[Member]> };

type DeepPartial<T> = T extends string | ((...values: never) => unknown) | readonly unknown[]
  ? T
  : { [Member in keyof T]?: DeepPartial<T[Member]> };

/** All texts of the page. */
export type Texts = WithAnyText<typeof textsByArea>;

/** Texts in another language. Texts that are left out stay in English. */
export type Translation = DeepPartial<Texts>;

/** The constants with their current texts. */
export const currentTexts: Texts = textsByArea;

const englishTexts: Record<string, object> = Object.fromEntries(
  Object.entries(textsByArea).map(([name, area]) => [name, { ...area }]),
);

const translations: Map<string, Translation | (() => Promise<Translation>)> = new Map([
  ['de', () => import('./german.js').then(({ german }) => german)],
]);

let language = 'en';

/** The language of the texts: `en`, or a language that has a translation. */
export function currentLanguage() {
  return language;
}

/** Adds the texts of a language, or a function that loads them. The page uses them from the next call of {@link useLanguage}. */
export function addTranslation(name: string, translation: Translation | (() => Promise<Translation>)) {
  translations.set(name.toLowerCase(), translation);
}

/** The language that has texts and best matches a tag such as `de-AT`; English if none matches. */
function closestLanguage(tag: string) {
  for (let name = tag.toLowerCase(); name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('-'))))
    if (name === 'en' || translations.has(name)) return name;
  return 'en';
}

/** Changes of the language run one after another, because loading the texts takes time. */
let pendingChange: Promise<void> = Promise.resolve();

/**
 * Changes the language of everything that is drawn from now on. If the texts of the language cannot be loaded, the language is English.
 *
 * @param tag language tag as in the attribute `lang`
 */
export function useLanguage(tag: string) {
  pendingChange = pendingChange.then(() => changeLanguage(tag));
  return pendingChange;
}

async function changeLanguage(tag: string) {
  let name = closestLanguage(tag);
  let translation = translations.get(name);
  if (typeof translation === 'function') translation = await translation().catch(() => undefined);
  if (!translation) name = 'en';
  language = name;
  useLocale(localeOf(name, tag));
  for (const [area, areaTexts] of Object.entries(textsByArea))
    Object.assign(areaTexts, mergeTexts(englishTexts[area], (translation as Record<string, unknown> | undefined)?.[area]));
}

/** The locale for numbers and dates: the tag or, failing that, a language of the browser, provided that it is the language `name` with a region; otherwise `name`. */
function localeOf(name: string, tag: string) {
  // Outside browsers, `navigator` is undefined.
  const { navigator } = globalThis as { navigator?: { languages: readonly string[] } };
  const regionalLocales = [tag, ...(navigator?.languages ?? [])].filter((locale) => locale.includes('-'));
  return [...regionalLocales, name].find((locale) => closestLanguage(locale) === name && isSupported(locale)) ?? 'en';
}

function isSupported(tag: string) {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    // The tag is not well-formed. It comes from an attribute of a page.
    return false;
  }
}

/** The texts of an area. Each text comes from the translation if the translation has a text of the same type there, otherwise from the original. */
function mergeTexts(original: unknown, translated: unknown): unknown {
  if (typeof translated !== typeof original || translated === null) return original;
  if (typeof original !== 'object' || Array.isArray(original)) return translated;
  const translatedArea = translated as Record<string, unknown>;
  const mergedTexts = Object.entries(original as object).map(([key, text]) => [
    key,
    Object.hasOwn(translatedArea, key) ? mergeTexts(text, translatedArea[key]) : text,
  ]);
  // Tables, such as the names of settings, may have more entries than in English.
  return Object.fromEntries([...Object.entries(translatedArea), ...mergedTexts]);
}
