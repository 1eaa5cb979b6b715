// @ts-check
import { request } from '../api.js';
import { announce, h, messageOf } from '../dom.js';
import { field, panel } from './parts.js';

/**
 * @typedef {object} Definition
 * @property {string} key
 * @property {string} description
 * @property {string} allowed what may be written, in words
 * @property {unknown} default
 * @property {unknown} value
 */

/** Groups of settings by the beginning of their keys. @type {Record<string, string>} */
const groups = { 'large_image.': 'Large images', 'core.': 'Server' };

/**
 * All settings, each with a form of its own: one that is refused changes no other.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function settingsSection({ signal }) {
  /** @type {Definition[]} */
  const definitions = await request('GET', 'system/setting/definitions', { signal });
  const other = definitions.filter(({ key }) => !Object.keys(groups).some((start) => key.startsWith(start)));
  const parts = Object.entries(groups).map(([start, title]) =>
    panel(title, ...definitions.filter(({ key }) => key.startsWith(start)).map(settingForm)),
  );
  return other.length === 0 ? parts : [...parts, panel('Other', ...other.map(settingForm))];
}

/** @param {Definition} definition */
function settingForm(definition) {
  const { key, description, allowed } = definition;
  const input = control(definition);
  const message = h('p', { class: 'form-error', role: 'alert' });
  const done = h('span', { class: 'quiet-text', role: 'status' });
  const save = h('button', { class: 'button', type: 'submit', 'aria-label': `Save ${key}` }, 'Save');
  const reset = h(
    'button',
    { class: 'button quiet', type: 'button', 'aria-label': `Default of ${key}`, onclick: useDefault },
    'Default',
  );
  return h(
    'form',
    { class: 'setting', 'data-key': key, onsubmit: submit, oninput: () => (done.textContent = '') },
    field(key, input, `${description} Default: ${shownDefault(definition)}.`),
    h('div', { class: 'setting-actions' }, save, reset, done),
    message,
  );

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    // The route reads JSON where it can: a text that happens to look like a number must stay a text.
    const value = typeof definition.default === 'string' ? JSON.stringify(input.value) : input.value;
    await write(() => request('PUT', 'system/setting', { form: { key, value } }), 'Saved');
  }

  async function useDefault() {
    await write(() => request('DELETE', 'system/setting', { query: { key } }), 'Reset');
  }

  /** @param {() => Promise<unknown>} change @param {string} words */
  async function write(change, words) {
    message.textContent = '';
    done.textContent = '';
    save.disabled = reset.disabled = true;
    try {
      await change();
      // What is stored may be written otherwise than what was sent.
      input.value = asText(await request('GET', 'system/setting', { query: { key } }));
      input.removeAttribute('aria-invalid');
      done.textContent = words;
      announce(`${key}: ${words}`);
    } catch (error) {
      input.setAttribute('aria-invalid', 'true');
      message.textContent = `${messageOf(error)} Allowed: ${allowed}.`;
    } finally {
      save.disabled = reset.disabled = false;
    }
  }
}

/** @param {Definition} definition @returns {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */
function control({ key, default: byDefault, value, allowed }) {
  const id = `setting-${key.replaceAll('.', '-')}`;
  const text = asText(value);
  if (typeof byDefault === 'boolean' && allowed.startsWith('true or false')) {
    const select = h('select', { id }, h('option', { value: 'true' }, 'true'), h('option', { value: 'false' }, 'false'));
    select.value = text;
    return select;
  }
  if (typeof byDefault === 'object' && (byDefault !== null || allowed.startsWith('JSON'))) {
    const area = h('textarea', { id, class: 'code', rows: 2, spellcheck: 'false' });
    area.value = text;
    return area;
  }
  const input = h('input', { id, autocomplete: 'off', spellcheck: 'false' });
  input.value = text;
  return input;
}

/** @param {unknown} value */
function asText(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** @param {Definition} definition */
function shownDefault({ default: byDefault }) {
  const text = asText(byDefault);
  return text === '' ? 'empty' : text;
}
