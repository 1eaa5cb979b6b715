import { request } from '../api.js';
import type { Answer } from '../answers.js';
import { h, linkButton, messageOf } from '../dom.js';
import { checkbox, choice, field } from '../forms.js';
import { formatBytes, formatCount } from '../format.js';
import { onceAtATime, createNotice, type SectionBuilder } from './parts.js';
import { commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';

type Definition = Answer<'GET system/setting/definitions'>[number];

function settingName({ key, schema }: Definition) {
  const unit = schema['x-unit'];
  const plainName = key
    .slice(key.indexOf('.') + 1)
    .replaceAll(/[._]/g, ' ')
    .replace(/^cors/, 'CORS:');
  const name = adminTexts.settingNames[key] ?? plainName[0]?.toUpperCase() + plainName.slice(1);
  return unit ? `${name} (${adminTexts.settingUnits[unit] ?? unit})` : name;
}

/** All settings in one form. If a value is refused, the reason appears next to it, and the other values are saved. */
export async function settingsSection({ signal }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  const definitions = await request('GET', 'system/setting/definitions', { signal });
  const rows = definitions.map(settingRow);
  const notice = createNotice();
  const saveButton = h('button.button.primary', { type: 'submit' }, commonTexts.save);
  const prefixes = Object.keys(adminTexts.settingGroups);
  const groups = prefixes.flatMap((prefix, index) => {
    const groupRows = rows.filter(({ key }) => prefixes.find((candidate) => key.startsWith(candidate)) === prefix);
    const heading = h('summary', h('h2', adminTexts.settingGroups[prefix] ?? ''));
    const attributes = { open: index === 0 };
    const element = h('details.panel.surface.raised.stack.column', attributes, heading, ...groupRows.map((row) => row.element));
    return groupRows.length === 0 ? [] : [{ rows: groupRows, element }];
  });
  const searchInput = h('input', {
    type: 'search',
    placeholder: adminTexts.findSetting,
    'aria-label': adminTexts.findSetting,
    oninput: () => search(),
    // Enter must not save the form.
    onkeydown: (event: KeyboardEvent) => event.key === 'Enter' && event.preventDefault(),
  });
  const noMatch = h('p.quiet-text', { role: 'status' });
  const elements = groups.map(({ element }) => element);
  const footer = h('div.settings-end.row', notice.element, saveButton);
  return [h('form.stack.column', { onsubmit: submit, novalidate: true }, searchInput, noMatch, ...elements, footer)];

  /** Shows the settings whose names, keys or descriptions contain all typed words. */
  function search() {
    const words = searchInput.value.toLowerCase().split(/\s+/);
    for (const { rows: groupRows, element } of groups) {
      for (const row of groupRows) row.element.hidden = !words.every((word) => row.searchText.includes(word));
      const isFound = groupRows.some((row) => !row.element.hidden);
      element.hidden = !isFound;
      element.open = searchInput.value === '' ? element === elements[0] : isFound;
    }
    noMatch.textContent = elements.every(({ hidden }) => hidden) ? adminTexts.noSetting : '';
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    void onceAtATime(saveButton, saveAll);
  }

  async function saveAll() {
    notice.clear();
    const changedRows = rows.filter((row) => row.prepareToSave());
    // Each setting is saved by a separate request, which can be refused.
    let refusedCount = 0;
    for (const row of changedRows) refusedCount += (await row.save()) ? 0 : 1;
    const savedText = adminTexts.settingsSaved(changedRows.length - refusedCount);
    if (refusedCount === 0) notice.showSuccess(changedRows.length === 0 ? adminTexts.nothingChanged : savedText);
    else notice.showError(`${savedText} ${adminTexts.settingsRefused(refusedCount)}`);
    const [first] = rows.filter((row) => row.isRefused());
    if (!first) return;
    const group = first.element.closest('details');
    if (group) Object.assign(group, { open: true, hidden: false });
    first.element.hidden = false;
    first.element.scrollIntoView({ block: 'center' });
  }
}

function settingRow(definition: Definition) {
  const { key, description, allowed, default: defaultValue } = definition;
  const id = `setting-${key.replaceAll('.', '-')}`;
  const name = settingName(definition);
  const box = isSwitch(definition) ? checkbox(name, { id }) : null;
  const input = box?.input ?? createInput(definition, id);
  let storedText = textOf(definition.value);
  showValue(storedText);
  const message = h('p.form-error', { role: 'alert' });
  const resetButton = linkButton(adminTexts.byDefault, () => showValue(textOf(defaultValue)), adminTexts.defaultOf(name));
  const hint = `${adminTexts.settingDescriptions[key] ?? description} ${adminTexts.defaultIs(describeDefault(definition))}`;
  const labeledInput = box
    ? h('div.stack.column', box.element, h('p.hint.break.quiet-text.small', hint))
    : field(name, input, hint);
  const element = h(
    'div.setting',
    { 'data-key': key, title: key },
    labeledInput,
    h('div.setting-actions.row', resetButton),
    message,
  );
  const searchText = `${name} ${key} ${description}`.toLowerCase();
  const isRefused = () => input.getAttribute('aria-invalid') === 'true';
  return { key, element, searchText, prepareToSave, isRefused, save };

  /** Clears the message about the previous value. @returns whether the value has changed, so that it must be saved */
  function prepareToSave() {
    message.textContent = '';
    input.removeAttribute('aria-invalid');
    return inputText() !== storedText;
  }

  function inputText() {
    return box ? String(box.input.checked) : input.value;
  }

  function showValue(text: string) {
    if (box) box.input.checked = text === 'true';
    else input.value = text;
  }

  async function save() {
    try {
      // The route reads JSON if it can, so a text that looks like a number is sent as a JSON string.
      const isDefault = inputText() === textOf(defaultValue);
      const sentText = typeof defaultValue === 'string' ? JSON.stringify(inputText()) : inputText();
      if (isDefault) await request('DELETE', 'system/setting', { query: { key } });
      else await request('PUT', 'system/setting', { form: { key, value: sentText } });
      // The server may have stored the value in a different form.
      storedText = textOf(await request('GET', 'system/setting', { query: { key } }));
      showValue(storedText);
      return true;
    } catch (error) {
      input.setAttribute('aria-invalid', 'true');
      message.textContent = `${messageOf(error).replace(key, name)} ${adminTexts.allowed(allowed)}`;
      return false;
    }
  }
}

function isSwitch({ schema }: Definition) {
  return schema.type === 'boolean' && schema.enum === undefined;
}

function createInput({ schema }: Definition, id: string) {
  const values = schema.enum?.map(textOf) ?? [];
  if (values.length > 1)
    return choice(Object.fromEntries(values.map((word) => [word, adminTexts.settingWords[word] ?? word])), undefined, { id });
  if (schema.type === 'object' || schema.format === 'json') return h('textarea.code', { id, rows: 2, spellcheck: 'false' });
  return h('input', { id, autocomplete: 'off', spellcheck: 'false' });
}

/** The default value as a text for people. */
function describeDefault({ default: value, schema }: Definition) {
  const text = textOf(value);
  if (typeof value === 'number') return formatCount(value) + (schema['x-unit'] === 'bytes' ? ` (${formatBytes(value)})` : '');
  return adminTexts.settingWords[text] ?? text;
}

function textOf(value: unknown) {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
