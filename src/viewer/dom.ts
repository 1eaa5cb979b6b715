import { commonTexts } from './texts.js';

export type Child = Node | string | number | null | undefined | false;

type Content = Child | Child[];
type Properties = Record<string, unknown>;
type Tag = keyof HTMLElementTagNameMap;
type TagOf<S extends string> = S extends `${infer N extends Tag}.${string}` ? N : S extends Tag ? S : never;

/**
 * Makes an element.
 *
 * @param selector its tag name, followed by its classes: `p.hint`
 * @param content Plain objects set attributes and, under names that start with `on`, event listeners. An attribute whose value is `true` is set
 *   to an empty text; `false`, `null` and `undefined` set no attribute. Everything else is a child. Texts are never parsed as HTML.
 */
export function h<S extends Tag | `${Tag}.${string}`>(
  selector: S,
  ...content: (Properties | Content)[]
): HTMLElementTagNameMap[TagOf<S>] {
  const [name, ...classes] = selector.split('.') as [TagOf<S>, ...string[]];
  const element = document.createElement(name);
  // Buttons submit forms only if their attributes say so.
  if (element instanceof HTMLButtonElement) element.type = 'button';
  element.classList.add(...classes);
  for (const part of content) {
    if (isContent(part)) append(element, [part]);
    else for (const [key, value] of Object.entries(part)) setProperty(element, key, value);
  }
  return element;
}

function isContent(part: Properties | Content): part is Content {
  return typeof part !== 'object' || part === null || part instanceof Node || Array.isArray(part);
}

function setProperty(element: HTMLElement, key: string, value: unknown) {
  if (key.startsWith('on') && typeof value === 'function') element.addEventListener(key.slice(2), value as EventListener);
  else if (value === true) element.setAttribute(key, '');
  else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, `${value as string | number}`);
}

export function append(parent: Element | ShadowRoot, children: Content[]) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) parent.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces the content of an element. */
export function fill(parent: Element | ShadowRoot, ...children: Content[]) {
  parent.replaceChildren();
  append(parent, children);
}

/** The shadow root in which dialogs and announcements are shown; `null` on the server's own page, which shows them in the document. */
let messageRoot: ShadowRoot | null = null;

/** Shows dialogs and announcements in this shadow root from now on, because the viewer's styles apply only inside it. */
export function useMessageRoot(root: ShadowRoot) {
  messageRoot = root;
}

/** Maximum number of visible characters of a name: about six lines of a card on a phone. */
const maxVisibleCharacters = 80;

/** A name in a narrow place. Only the beginning and the end of a long name are visible; screen readers read all of it. */
export function nameText(name: string): Child[] {
  if (name.length <= maxVisibleCharacters) return [name];
  const letters = Array.from(new Intl.Segmenter().segment(name), ({ segment }) => segment);
  const half = maxVisibleCharacters / 2;
  const middle = letters.slice(half, -half).join('');
  return [
    letters.slice(0, half).join(''),
    h('span', { 'aria-hidden': 'true' }, '…'),
    h('span.left-out', middle),
    letters.slice(-half).join(''),
  ];
}

/** Opens a modal dialog, which is removed when it closes. It also closes when the address changes, because it belongs to the current view. */
export function showDialog(dialog: HTMLDialogElement) {
  const closeController = new AbortController();
  dialog.addEventListener('close', () => (closeController.abort(), dialog.remove()));
  // A viewer element is on other people's pages, where a new address does not mean that the viewer shows something else.
  if (!messageRoot) addEventListener('hashchange', () => dialog.close(), { signal: closeController.signal });
  (messageRoot ?? document.body).append(dialog);
  dialog.showModal();
}

/** SVG paths on a 24 by 24 grid, drawn with a round 2-pixel stroke. */
const iconPaths = {
  select: 'M5 3l14 8-6 2-3 6z',
  box: 'M4 8V4h4M12 4h3M19 4h1v4M20 12v3M20 19v1h-4M12 20H9M5 20H4v-4M4 12v-1',
  brush: 'M20 4L10 14M9 13c-3 0-3 3-5 6 4 1 7 0 7-4z',
  close: 'M6 6l12 12M18 6L6 18',
  compare: 'M3 5h8v14H3zM13 5h8v14h-8z',
  comment: 'M4 5h16v11h-9l-4 4v-4H4z',
  collection: 'M4 7h16v13H4zM7 7V4h10v3M9 12h6',
  download: 'M12 4v11m-5-5l5 5 5-5M5 20h14',
  ellipse: 'M12 5c5 0 9 3 9 7s-4 7-9 7-9-3-9-7 4-7 9-7z',
  eraser: 'M9 19l-5-5 9-9 7 7-7 7zM8 10l7 7M9 19h11',
  file: 'M7 3h7l5 5v13H7zM14 3v5h5',
  folder: 'M3 19V6a1 1 0 0 1 1-1h5l2 3h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z',
  fullScreen: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  hole: 'M4 5h16v14H4zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  home: 'M4 11l8-7 8 7v9h-6v-6h-4v6H4z',
  inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  lasso: 'M8 16c-8-3-5-12 4-12 10 0 11 10 2 12-3 .6-7 .5-8 0M8 16a2 2 0 1 0 2 2c0 2-2 3-4 3',
  line: 'M4 19l6-11 5 6 5-10',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  lock: 'M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3',
  minus: 'M5 12h14',
  next: 'M9 5l7 7-7 7',
  pencil: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-3.5 3-5.5 6.5-5.5s6.5 2 6.5 5.5M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.8c2 .8 3.5 2.6 3.5 5.2',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6',
  play: 'M7 5l12 7-12 7z',
  plus: 'M12 5v14M5 12h14',
  point: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3',
  polygon: 'M12 4l8 6-3 10H7L4 10z',
  previous: 'M15 5l-7 7 7 7',
  rectangle: 'M4 6h16v12H4z',
  redo: 'M15 7l5 5-5 5M20 12H10a6 6 0 0 0-6 6',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  measure: 'M4 16L16 4l4 4L8 20zM8 12l2 2M11 9l2 2M14 6l2 2',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  settings: 'M4 7h8m4 0h4M12 7a2 2 0 1 0 4 0a2 2 0 1 0-4 0zM4 17h2m4 0h10M6 17a2 2 0 1 0 4 0a2 2 0 1 0-4 0z',
  table: 'M4 5h16v14H4zM4 10h16M4 15h16M10 5v14',
  tag: 'M4 4h8l8 8-8 8-8-8zM8.5 8.5h.01',
  split: 'M4 6h5v12H4zM15 6h5v12h-5zM12 3v3M12 9v2M12 14v2M12 19v2',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  turn: 'M20 13a8 8 0 1 1-3-6M20 4v5h-5',
  undo: 'M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6',
  upload: 'M12 16V5m-5 5l5-5 5 5M5 20h14',
};

/** A decorative picture. The control around it must have an accessible name. */
export function icon(name: keyof typeof iconPaths) {
  return svgPath(iconPaths[name], { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' });
}

/** A picture of one path. @param d as in the attribute of an SVG path */
export function svgPath(d: string, attributes: Record<string, string>) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  const path = document.createElementNS(namespace, 'path');
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  path.setAttribute('d', d);
  svg.append(path);
  return svg;
}

export type IconName = keyof typeof iconPaths;

export interface ButtonOptions {
  icon?: IconName;
  /** class that sets its style */
  kind?: 'primary' | 'danger' | 'fold';
  /** accessible name; needed if the label is missing or ambiguous */
  name?: string;
  /** text that follows the name in the tooltip of a button without a label */
  hint?: string;
  /** whether a toggle button is pressed; `undefined` for other buttons */
  isPressed?: boolean;
}

/** A button with words, an icon, or both. */
export function button(label: string, onclick: () => void, { icon: iconName, kind, name, hint, isPressed }: ButtonOptions = {}) {
  const title = label === '' ? [name, hint].filter(Boolean).join(': ') : null;
  const classes = `button ${label === '' ? `icon-button ${isPressed === undefined ? 'quiet' : ''}` : ''} ${kind ?? ''}`;
  const pressed = isPressed === undefined ? null : String(isPressed);
  const attributes = { class: classes, title, 'aria-label': name, 'aria-pressed': pressed, onclick };
  return h('button', attributes, iconName && icon(iconName), label);
}

/** A button whose label is hidden on narrow screens. */
export function responsiveButton(iconName: IconName, label: string, onclick: () => void) {
  const labelElement = h('span.wide-only', label);
  return h('button.button', { 'aria-label': label, title: label, onclick }, icon(iconName), labelElement);
}

/** A button that looks like a link. @param name accessible name; needed if the label is ambiguous */
export function linkButton(label: string, onclick: () => void, name?: string) {
  return h('button.link-button', { 'aria-label': name, onclick }, label);
}

/** A row of buttons. */
export function actions(...buttons: Content[]) {
  return h('div.actions.wrap', ...buttons);
}

/** A dialog with a heading and a button to close it. */
export function showPlainDialog(title: string, ...content: Child[]) {
  const close = button('', () => dialog.close(), { icon: 'close', name: commonTexts.close });
  const heading = h('div.dialog-heading.row.between', h('h2', title), close);
  const dialog = h('dialog.dialog.surface', { 'aria-label': title }, heading, h('div.stack.column', ...content));
  showDialog(dialog);
  return dialog;
}

/** A slider with a label that shows its value. */
export function slider(label: string, attributes: Properties) {
  const id = htmlId('slider');
  const input = h('input', { id, type: 'range', ...attributes });
  const output = h('output.axis-value.numbers.quiet-text', { for: id });
  return { input, output, element: h('div.axis', h('label', { for: id }, label), output, input) };
}

/** Returns a function that postpones `call` until the function has not been called for a moment, for example until the user has stopped typing. */
export function debounced(call: () => void, delayMs = 250) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, delayMs);
  };
}

/**
 * Tells which of several requests is the newest, so that older responses can be ignored.
 *
 * @returns a function to call when a request begins; it returns a function that tells whether that request is still the newest
 */
export function trackNewest() {
  let newest = {};
  return () => {
    const ownRequest = (newest = {});
    return () => ownRequest === newest;
  };
}

let lastId = 0;

/** A new id for an element. It is numbered, because the page may have the same controls twice, for two images. */
export function htmlId(name: string) {
  lastId += 1;
  return `${name}-${lastId}`;
}

/** Announces a message to users of screen readers only. A message that {@link showMessage} shows stays visible. */
export function announce(message: string) {
  const announcer = (messageRoot ?? document).querySelector('#hidden-announcer');
  if (announcer) announcer.textContent = message;
}

/** Shows and announces a message for some seconds. With an action, the message is shown longer, and disappears when the user chooses the action. */
export function showMessage(message: string, action?: HTMLElement) {
  setAnnouncement(message, 'toast surface raised row', action);
  clearTimeout(messageTimer);
  const hideMessage = () => setAnnouncement('', 'visually-hidden');
  action?.addEventListener('click', hideMessage);
  messageTimer = setTimeout(hideMessage, action ? messageWithActionMs : messageMs);
}

const messageMs = 6000;
const messageWithActionMs = 20_000;

let messageTimer: ReturnType<typeof setTimeout> | undefined;

function setAnnouncement(message: string, classes: string, action?: HTMLElement) {
  const announcer = (messageRoot ?? document).querySelector('#announcer');
  if (!announcer) return;
  announcer.className = classes;
  announcer.textContent = message;
  if (action) announcer.append(' ', action);
}

/** The message of an error, for people. */
export function messageOf(error: unknown) {
  return error instanceof Error ? error.message : String(error);
}

export function errorNotice(error: unknown) {
  return h('div.notice.notice-error.surface.column', { role: 'alert' }, h('p', messageOf(error)));
}
