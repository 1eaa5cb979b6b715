// @ts-check

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element. Properties whose names start with `on` are event listeners; `class`, `data-*`, `aria-*` and the like are
 * attributes (`true` gives an empty one, `false`, `null` and `undefined` none). Text children are never read as HTML.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, unknown>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith('on') && typeof value === 'function') {
      element.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    } else if (value === true) {
      element.setAttribute(key, '');
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, `${/** @type {string | number} */ (value)}`);
    }
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} parent
 * @param {(Child | Child[])[]} children
 */
export function append(parent, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Puts other content into an element.
 *
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/** Outlines on a 24 by 24 grid, drawn with a round 2-pixel stroke. */
const outlines = {
  arrow: 'M5 3l14 8-6 2-3 6z',
  close: 'M6 6l12 12M18 6L6 18',
  collection: 'M4 7h16v13H4zM7 7V4h10v3M9 12h6',
  download: 'M12 4v11m-5-5l5 5 5-5M5 20h14',
  ellipse: 'M12 5c5 0 9 3 9 7s-4 7-9 7-9-3-9-7 4-7 9-7z',
  file: 'M7 3h7l5 5v13H7zM14 3v5h5',
  folder: 'M3 19V6a1 1 0 0 1 1-1h5l2 3h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z',
  fullScreen: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  home: 'M4 11l8-7 8 7v9h-6v-6h-4v6H4z',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  line: 'M4 19l6-11 5 6 5-10',
  minus: 'M5 12h14',
  next: 'M9 5l7 7-7 7',
  panel: 'M4 5h16v14H4zM14 5v14',
  pencil: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6',
  plus: 'M12 5v14M5 12h14',
  point: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3',
  polygon: 'M12 4l8 6-3 10H7L4 10z',
  previous: 'M15 5l-7 7 7 7',
  rectangle: 'M4 6h16v12H4z',
  redo: 'M15 7l5 5-5 5M20 12H10a6 6 0 0 0-6 6',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  settings: 'M4 7h8m4 0h4M12 7a2 2 0 1 0 4 0a2 2 0 1 0-4 0zM4 17h2m4 0h10M6 17a2 2 0 1 0 4 0a2 2 0 1 0-4 0z',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  undo: 'M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6',
  upload: 'M12 16V5m-5 5l5-5 5 5M5 20h14',
};

/**
 * A decorative picture; the control around it carries the name.
 *
 * @param {keyof typeof outlines} name
 */
export function icon(name) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', outlines[name]);
  svg.append(path);
  return svg;
}

/**
 * Tells users of screen readers what has happened.
 *
 * @param {string} message
 */
export function announce(message) {
  const announcer = document.getElementById('announcer');
  if (announcer) announcer.textContent = message;
}

/**
 * What went wrong, in words.
 *
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * A box that says what went wrong.
 *
 * @param {unknown} error
 * @param {...Child} more
 */
export function errorNotice(error, ...more) {
  return h('div', { class: 'notice notice-error', role: 'alert' }, h('p', {}, messageOf(error)), ...more);
}
