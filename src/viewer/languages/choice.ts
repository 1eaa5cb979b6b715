import { h } from '../dom.js';
import { choice, field } from '../forms.js';
import languages from '../page-texts.json';
import { commonTexts } from '../texts.js';
import { currentLanguage, useLanguage } from './catalog.js';
import { siteStorage } from '../storage.js';

const storageKey = 'large-image-language';

/** Uses the language that the user has chosen in this browser, otherwise the language of the page, which the server has chosen. */
export async function useChosenLanguage() {
  await useLanguage(siteStorage.get(storageKey) ?? document.documentElement.lang);
  document.documentElement.lang = currentLanguage();
}

/** A list of the languages, each under its own name. When the user chooses a language, the page is loaded again in this language. */
export function languageChoice() {
  const names = Object.fromEntries(Object.entries(languages).map(([language, { name }]) => [language, name]));
  const list = choice(names, currentLanguage(), { autocomplete: 'off' });
  list.addEventListener('change', () => {
    siteStorage.set(storageKey, list.value);
    location.reload();
  });
  return h('div.language', field(commonTexts.language, list));
}
