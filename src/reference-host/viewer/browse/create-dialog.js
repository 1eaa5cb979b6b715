// @ts-check
import { announce, h, messageOf } from '../dom.js';

/**
 * Asks for a name (and a description) and makes something of them; stays open with the server's words while that fails.
 *
 * @param {object} question
 * @param {string} question.title
 * @param {string} question.action label of the button
 * @param {{ name: string, label: string, checked: boolean }} [question.option] a box to tick
 * @param {{ name: string, description: string }} [question.values] what stands there at first
 * @param {(values: { name: string, description: string, option: boolean }) => Promise<void>} question.create
 */
export function askToCreate({ title, action, option, values, create }) {
  const name = h('input', { id: 'create-name', name: 'name', required: true, autocomplete: 'off' });
  const description = h('textarea', { id: 'create-description', name: 'description', rows: 2 });
  name.value = values?.name ?? '';
  description.value = values?.description ?? '';
  const box = option ? h('input', { id: 'create-option', type: 'checkbox', checked: option.checked }) : null;
  const message = h('p', { class: 'form-error', role: 'alert' });
  const submitButton = h('button', { class: 'button primary', type: 'submit' }, action);
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': 'create-title', onclose: () => dialog.remove() },
    h(
      'form',
      { class: 'stack', onsubmit: submit },
      h('h2', { id: 'create-title' }, title),
      h('div', { class: 'field' }, h('label', { for: 'create-name' }, 'Name'), name),
      h('div', { class: 'field' }, h('label', { for: 'create-description' }, 'Description (optional)'), description),
      box && h('label', { class: 'check' }, box, ` ${option?.label}`),
      message,
      h(
        'div',
        { class: 'actions' },
        h('button', { class: 'button', type: 'button', onclick: () => dialog.close() }, 'Cancel'),
        submitButton,
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  name.select();

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    message.textContent = '';
    submitButton.disabled = true;
    try {
      await create({ name: name.value, description: description.value, option: box?.checked ?? false });
      dialog.close();
    } catch (error) {
      message.textContent = messageOf(error);
      name.focus();
    } finally {
      submitButton.disabled = false;
    }
  }
}

/**
 * Asks before something is removed.
 *
 * @param {object} question
 * @param {string} question.title
 * @param {string} question.text
 * @param {() => Promise<string>} question.remove resolves with what to say when it is done
 */
export function askToRemove({ title, text, remove }) {
  const message = h('p', { class: 'form-error', role: 'alert' });
  const button = h('button', { class: 'button danger', type: 'button', onclick: confirm }, 'Delete');
  const cancel = h('button', { class: 'button', type: 'button', onclick: () => dialog.close() }, 'Cancel');
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': 'remove-title', onclose: () => dialog.remove() },
    h(
      'div',
      { class: 'stack' },
      h('h2', { id: 'remove-title' }, title),
      h('p', {}, text),
      message,
      h('div', { class: 'actions' }, cancel, button),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  cancel.focus();

  async function confirm() {
    button.disabled = true;
    try {
      announce(await remove());
      dialog.close();
    } catch (error) {
      message.textContent = messageOf(error);
      button.disabled = false;
    }
  }
}
