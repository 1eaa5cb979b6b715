import { ApiError, storesToken, SessionEndedError } from './api.js';
import { actions, fill, h, htmlId, messageOf, showDialog, type Child } from './dom.js';
import { hasSessionEnded } from './session.js';
import { accountTexts, commonTexts } from './texts.js';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** A field of a form. Members that are not listed here are attributes of the input. */
export interface Field {
  /** name of the value, by which the server's errors refer to the field */
  name: string;
  label: string;
  /** the `type` of the input, or `textarea`; default `text` */
  type?: string;
  value?: string | boolean | undefined;
  hint?: string | undefined;
  /** makes the field a drop-down list: the text of each choice, by its value */
  options?: Record<string, string>;
  [attribute: string]: unknown;
}

/** A labeled input. */
export function field(label: string, input: HTMLElement, hint?: string) {
  input.id ||= htmlId('field');
  const hintId = `${input.id}-hint`;
  if (hint) input.setAttribute('aria-describedby', hintId);
  const hintElement = hint && h('p.hint.break.quiet-text.small', { id: hintId }, hint);
  return h('div.field.column', h('label', { for: input.id }, label), input, hintElement);
}

/** A drop-down list. */
export function choice(options: Record<string, string>, value?: string, attributes: Record<string, unknown> = {}) {
  const choices = Object.entries(options).map(([key, words]) => h('option', { value: key, selected: key === value }, words));
  return h('select', attributes, ...choices);
}

/** A check box with its label. */
export function checkbox(label: string, attributes: Record<string, unknown> = {}) {
  const input = h('input', { type: 'checkbox', ...attributes });
  return { input, element: h('label.row', input, ` ${label}`) };
}

function makeControl({ name, label, type = 'text', value = '', hint, options, ...attributes }: Field): [Control, HTMLElement] {
  if (type === 'checkbox') {
    const box = checkbox(label, { name, checked: value === true, ...attributes });
    return [box.input, box.element];
  }
  const input = options
    ? choice(options, String(value), { name })
    : type === 'textarea'
      ? h('textarea', { name, rows: 2, ...attributes })
      : h('input', { name, type, autocomplete: 'off', ...attributes });
  if (!options) input.value = String(value);
  return [input, field(label, input, hint)];
}

/** Fields of a form, and the function that receives their values. */
export interface FormOptions {
  fields?: Field[];
  /** content between the fields and the buttons */
  content?: Child[];
  /** label of the button that submits the form */
  action: string;
  kind?: 'primary' | 'danger';
  /** Called with the values, which are `'true'` or `'false'` for check boxes. If it throws, the form stays open and shows the error. */
  send: (values: Record<string, string>) => Promise<unknown>;
  otherButtons?: HTMLElement[];
}

/** A form. If the server refuses its values, the form shows why and keeps them. */
export function form({ fields = [], content = [], action, kind = 'primary', send, otherButtons = [] }: FormOptions) {
  const message = h('p.form-error', { role: 'alert' });
  const submitButton = h('button', { class: `button ${kind}`, type: 'submit' }, action);
  const controls = fields.map(makeControl);
  const inputs = controls.map(([input]) => input);
  const rows = controls.map(([, element]) => element);
  return h('form.stack.column', { onsubmit: submit }, ...rows, ...content, message, actions(...otherButtons, submitButton));

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    message.textContent = '';
    submitButton.disabled = true;
    try {
      const values = inputs.map((input) => [
        input.name,
        input instanceof HTMLInputElement && input.type === 'checkbox' ? String(input.checked) : input.value,
      ]);
      await send(Object.fromEntries(values));
    } catch (error) {
      // If the page already knows that the session has ended, the request was sent without a token, and the error is not a `SessionEndedError`.
      const isSessionOver =
        error instanceof SessionEndedError || (error instanceof ApiError && error.status === 401 && hasSessionEnded());
      fill(
        message,
        isSessionOver ? accountTexts.sessionEndedEntries : messageOf(error),
        isSessionOver && storesToken() && signInLink(),
      );
      const refusedInput = error instanceof ApiError ? inputs.find((input) => input.name === error.field) : undefined;
      (refusedInput ?? inputs[0] ?? submitButton).focus();
      message.scrollIntoView({ block: 'nearest' });
    } finally {
      submitButton.disabled = false;
    }
  }
}

/** A link to sign in in another tab. After that, the user is signed in here too, and the form has kept its values. */
function signInLink() {
  return [' ', h('a', { href: `${location.pathname}#sign-in`, target: '_blank' }, accountTexts.signInElsewhere)];
}

/** Opens a dialog with a form. It closes when the values were accepted. */
export function showFormDialog({ title, text, send, ...options }: FormOptions & { title: string; text?: string }) {
  const cancel = h('button.button', { onclick: () => dialog.close() }, commonTexts.cancel);
  const element = form({
    ...options,
    otherButtons: [cancel, ...(options.otherButtons ?? [])],
    async send(values) {
      await send(values);
      dialog.close();
    },
  });
  const dialog = h('dialog.dialog.surface', { 'aria-label': title }, h('h2', title), text && h('p', text), element);
  showDialog(dialog);
  const firstInput = dialog.querySelector<HTMLInputElement>('input, textarea, select');
  if (options.kind === 'danger' || !firstInput) cancel.focus();
  else firstInput.focus();
  if (firstInput instanceof HTMLInputElement) firstInput.select();
  return dialog;
}
