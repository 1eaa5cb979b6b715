import { request } from '../api.js';
import { h, linkButton, messageOf } from '../dom.js';
import { checkbox, choice, field } from '../forms.js';
import { formatBytes, formatCount } from '../format.js';
import { onceAtATime, outcome, panel, type Section } from './parts.js';
import { adminTexts, commonTexts } from '../texts.js';

interface Definition {
  key: string;
  description: string;
  /** description of the allowed values */
  allowed: string;
  default: unknown;
  value: unknown;
}

function nameOf({ key, allowed }: Definition) {
  const unit = /^a number of (\w+)/.exec(allowed)?.[1];
  const words = key
    .slice(key.indexOf('.') + 1)
    .replaceAll(/[._]/g, ' ')
    .replace(/^cors/, 'CORS:');
  const name = adminTexts.settingNames[key] ?? words[0]?.toUpperCase() + words.slice(1);
  return unit ? `${name} (${unit})` : name;
}

/** All settings in one form. If a value is refused, the reason appears next to it, and the other values are saved. */
export async function settingsSection({ signal }: Parameters<Section>[0]): ReturnType<Section> {
  const definitions: Definition[] = await request('GET', 'system/setting/definitions', { signal });
  const rows = definitions.map(settingRow);
  const said = outcome();
  const save = h('button.button.primary', { type: 'submit' }, commonTexts.save);
  const starts = Object.keys(adminTexts.settingGroups);
  const panels = starts.flatMap((start) => {
    const own = rows.filter(({ key }) => starts.find((one) => key.startsWith(one)) === start);
    return own.length === 0 ? [] : [panel(adminTexts.settingGroups[start] ?? '', ...own.map(({ element }) => element))];
  });
  return [
    h('form.stack.column', { onsubmit: submit, novalidate: true }, ...panels, h('div.settings-end.row', said.element, save)),
  ];

  function submit(event: SubmitEvent) {
    event.preventDefault();
    void onceAtATime(save, saveAll);
  }

  async function saveAll() {
    said.clear();
    const changed = rows.filter((row) => row.isChanged());
    // Each setting is saved by a separate request, which can be refused.
    let refused = 0;
    for (const row of changed) refused += (await row.save()) ? 0 : 1;
    const stored = adminTexts.settingsSaved(changed.length - refused);
    if (refused === 0) said.good(changed.length === 0 ? adminTexts.nothingChanged : stored);
    else said.bad(`${stored} ${adminTexts.settingsRefused(refused)}`);
    if (refused > 0) document.querySelector('.setting [aria-invalid="true"]')?.scrollIntoView({ block: 'center' });
  }
}

function settingRow(definition: Definition) {
  const { key, description, allowed, default: byDefault } = definition;
  const id = `setting-${key.replaceAll('.', '-')}`;
  const name = nameOf(definition);
  const box = isSwitch(definition) ? checkbox(name, { id }) : null;
  const input = box?.input ?? control(definition, id);
  let shown = textOf(definition.value);
  put(shown);
  const message = h('p.form-error', { role: 'alert' });
  const reset = linkButton(adminTexts.byDefault, () => put(textOf(byDefault)), adminTexts.defaultOf(name));
  const hint = `${description} ${adminTexts.defaultIs(inWords(definition))}`;
  const labelled = box ? h('div.stack.column', box.element, h('p.hint.break.quiet-text.small', hint)) : field(name, input, hint);
  const element = h('div.setting', { 'data-key': key, title: key }, labelled, h('div.setting-actions.row', reset), message);
  return { key, element, isChanged, save };

  /** Whether there is something to save. Clears the message about the previous value. */
  function isChanged() {
    message.textContent = '';
    input.removeAttribute('aria-invalid');
    return value() !== shown;
  }

  function value() {
    return box ? String(box.input.checked) : input.value;
  }

  function put(text: string) {
    if (box) box.input.checked = text === 'true';
    else input.value = text;
  }

  async function save() {
    try {
      // The route reads JSON if it can, so a text that looks like a number is sent as a JSON string.
      const isDefault = value() === textOf(byDefault);
      const sent = typeof byDefault === 'string' ? JSON.stringify(value()) : value();
      if (isDefault) await request('DELETE', 'system/setting', { query: { key } });
      else await request('PUT', 'system/setting', { form: { key, value: sent } });
      // The server may have stored the value in another form.
      shown = textOf(await request('GET', 'system/setting', { query: { key } }));
      put(shown);
      return true;
    } catch (error) {
      input.setAttribute('aria-invalid', 'true');
      message.textContent = `${messageOf(error).replace(key, name)} ${adminTexts.allowed(allowed)}`;
      return false;
    }
  }
}

function choicesOf({ allowed }: Definition) {
  return (allowed.split(';')[0] ?? '').replaceAll('"', '').split(/, | or /);
}

function isSwitch(definition: Definition) {
  return typeof definition.default === 'boolean' && choicesOf(definition).join() === 'true,false';
}

function control(definition: Definition, id: string) {
  const { default: byDefault, allowed } = definition;
  const choices = choicesOf(definition);
  if (choices.length > 1 && allowed.includes(' or ') && choices.every((word) => /^\w+$/.test(word)))
    return choice(Object.fromEntries(choices.map((word) => [word, adminTexts.settingWords[word] ?? word])), undefined, { id });
  if (typeof byDefault === 'object' && (byDefault !== null || allowed.startsWith('JSON')))
    return h('textarea.code', { id, rows: 2, spellcheck: 'false' });
  return h('input', { id, autocomplete: 'off', spellcheck: 'false' });
}

/** The default as a text for people. */
function inWords({ default: value, allowed }: Definition) {
  const text = textOf(value);
  if (typeof value === 'number')
    return formatCount(value) + (allowed.startsWith('a number of bytes') ? ` (${formatBytes(value)})` : '');
  return adminTexts.settingWords[text] ?? text;
}

function textOf(value: unknown) {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
