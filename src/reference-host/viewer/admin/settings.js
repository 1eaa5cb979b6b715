// @ts-check
import { request } from '../api.js';
import { h, messageOf } from '../dom.js';
import { plural } from '../format.js';
import { field, outcome, panel } from './parts.js';

/**
 * @typedef {object} Definition
 * @property {string} key
 * @property {string} description
 * @property {string} allowed what may be written, in words
 * @property {unknown} default
 * @property {unknown} value
 *
 * @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Control
 */

/** Groups of settings by the beginning of their keys. @type {Record<string, string>} */
const groups = { 'large_image.': 'Large images', 'core.': 'Server', '': 'Other' };

/** Names of settings whose keys say too little. @type {Record<string, string>} */
const names = {
  'large_image.auto_set': 'Open uploaded images by themselves',
  'large_image.config_folder': 'Folder with settings for all folders',
  'large_image.icc_correction': 'Color correction',
  'large_image.max_small_image_size': 'Largest image without tiles',
  'large_image.merge_dicom': 'Join DICOM files',
  'large_image.notification_stream_fallback': 'Ask again for notifications',
  'core.add_to_group_policy': 'Who may add members to groups',
  'core.api_keys': 'API keys',
  'core.brand_name': 'Name of the server',
  'core.collection_create_policy': 'Who may create collections',
  'core.registration_policy': 'Who may register',
  'core.sign_in_window': 'How long failed sign-ins count',
  'core.server_root': 'Address of the server',
  'core.user_default_folders': 'Folders of new users',
};

/** @param {string} key */
function nameOf(key) {
  const words = key
    .slice(key.indexOf('.') + 1)
    .replaceAll(/[._]/g, ' ')
    .replace(/^cors/, 'CORS:');
  return names[key] ?? words[0]?.toUpperCase() + words.slice(1);
}

/**
 * All settings in one form. What is refused keeps its reason beside it and changes nothing else.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function settingsSection({ signal }) {
  /** @type {Definition[]} */
  const definitions = await request('GET', 'system/setting/definitions', { signal });
  const rows = definitions.map(settingRow);
  const said = outcome();
  const save = h('button', { class: 'button primary', type: 'submit' }, 'Save');
  const starts = Object.keys(groups);
  const panels = starts.flatMap((start) => {
    const own = rows.filter(({ key }) => starts.find((one) => key.startsWith(one)) === start);
    return own.length === 0 ? [] : [panel(groups[start] ?? '', ...own.map(({ element }) => element))];
  });
  return [
    h(
      'form',
      { class: 'stack', onsubmit: submit, novalidate: true },
      ...panels,
      h('div', { class: 'settings-end' }, said.element, save),
    ),
  ];

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    save.disabled = true;
    said.clear();
    const changed = rows.filter((row) => row.isChanged());
    // One after another: each is refused or stored by itself.
    let refused = 0;
    for (const row of changed) refused += (await row.save()) ? 0 : 1;
    save.disabled = false;
    const stored = `${plural(changed.length - refused, 'setting')} saved.`;
    if (refused === 0) said.good(changed.length === 0 ? 'Nothing has changed.' : stored);
    else said.bad(`${stored} ${plural(refused, 'setting')} refused: the reason stands beside it.`);
    if (refused > 0) document.querySelector('.setting [aria-invalid="true"]')?.scrollIntoView({ block: 'center' });
  }
}

/** @param {Definition} definition */
function settingRow(definition) {
  const { key, description, allowed, default: byDefault } = definition;
  const id = `setting-${key.replaceAll('.', '-')}`;
  const input = control(definition, id);
  let shown = textOf(definition.value);
  put(shown);
  const message = h('p', { class: 'form-error', role: 'alert' });
  const name = nameOf(key);
  const reset = h(
    'button',
    { class: 'link-button', type: 'button', 'aria-label': `Default of ${name}`, onclick: () => put(textOf(byDefault)) },
    'Default',
  );
  const hint = `${description} Default: ${textOf(byDefault) || 'empty'}.`;
  const isBox = input.type === 'checkbox';
  const labelled = isBox
    ? h('div', { class: 'stack' }, h('label', { class: 'check' }, input, ` ${name}`), h('p', { class: 'hint' }, hint))
    : field(name, input, hint);
  const element = h(
    'div',
    { class: 'setting', 'data-key': key, title: key },
    labelled,
    h('div', { class: 'setting-actions' }, reset),
    message,
  );
  return { key, element, isChanged: () => value() !== shown, save };

  function value() {
    return isBoxed(input) ? String(input.checked) : input.value;
  }

  /** @param {string} text */
  function put(text) {
    if (isBoxed(input)) input.checked = text === 'true';
    else input.value = text;
  }

  async function save() {
    message.textContent = '';
    try {
      // The route reads JSON where it can: a text that happens to look like a number must stay a text.
      const isDefault = value() === textOf(byDefault);
      const sent = typeof byDefault === 'string' ? JSON.stringify(value()) : value();
      if (isDefault) await request('DELETE', 'system/setting', { query: { key } });
      else await request('PUT', 'system/setting', { form: { key, value: sent } });
      // What is stored may be written otherwise than what was sent.
      shown = textOf(await request('GET', 'system/setting', { query: { key } }));
      put(shown);
      input.removeAttribute('aria-invalid');
      return true;
    } catch (error) {
      input.setAttribute('aria-invalid', 'true');
      message.textContent = `${messageOf(error).replace(key, name)} Allowed: ${allowed}.`;
      return false;
    }
  }
}

/** @param {Control} input @returns {input is HTMLInputElement} */
function isBoxed(input) {
  return input.type === 'checkbox';
}

/** @param {Definition} definition @param {string} id @returns {Control} */
function control({ default: byDefault, allowed }, id) {
  const choices = (allowed.split(';')[0] ?? '').replaceAll('"', '').split(/, | or /);
  if (typeof byDefault === 'boolean' && choices.join() === 'true,false') return h('input', { id, type: 'checkbox' });
  if (choices.length > 1 && allowed.includes(' or ') && choices.every((word) => /^\w+$/.test(word)))
    return h('select', { id }, ...choices.map((word) => h('option', { value: word }, word)));
  if (typeof byDefault === 'object' && (byDefault !== null || allowed.startsWith('JSON')))
    return h('textarea', { id, class: 'code', rows: 2, spellcheck: 'false' });
  return h('input', { id, autocomplete: 'off', spellcheck: 'false' });
}

/** @param {unknown} value */
function textOf(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
