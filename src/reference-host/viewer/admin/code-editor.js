// @ts-check
import { fill, h } from '../dom.js';

/**
 * A text area with numbered lines, of which some can be marked.
 *
 * @param {{ label: string, onInput: () => void }} options
 */
export function codeEditor({ label, onInput }) {
  const numbers = h('div', { class: 'line-numbers', 'aria-hidden': 'true' });
  const bands = h('div', { class: 'line-bands', 'aria-hidden': 'true' });
  const area = h('textarea', {
    class: 'editor-text',
    'aria-label': label,
    rows: 18,
    wrap: 'off',
    spellcheck: 'false',
    autocapitalize: 'none',
    oninput: () => {
      mark([]);
      showNumbers();
      onInput();
    },
    onscroll: follow,
  });
  const element = h('div', { class: 'editor' }, numbers, h('div', { class: 'editor-main' }, bands, area));
  /** @type {Set<number>} */
  let marked = new Set();
  let count = 0;
  return { element, mark, setText, goTo, text: () => area.value };

  /** @param {string} text */
  function setText(text) {
    area.value = text;
    mark([]);
    showNumbers();
  }

  function showNumbers() {
    const lines = area.value.split('\n').length;
    if (lines !== count) {
      count = lines;
      fill(numbers, ...Array.from({ length: lines }, (_none, index) => h('div', {}, index + 1)));
      mark([...marked]);
    }
    follow();
  }

  /** Marks lines, counted from 0. @param {number[]} lines */
  function mark(lines) {
    for (const line of marked) numbers.children[line]?.classList.remove('failing');
    marked = new Set(lines);
    fill(bands);
    for (const line of marked) {
      numbers.children[line]?.classList.add('failing');
      const band = h('div', { class: 'line-band' });
      band.style.top = `calc(${line} * var(--line-height))`;
      bands.append(band);
    }
    area.setAttribute('aria-invalid', String(marked.size > 0));
  }

  function follow() {
    numbers.scrollTop = area.scrollTop;
    bands.style.transform = `translateY(${-area.scrollTop}px)`;
  }

  /** Puts the cursor in a line. @param {number} line */
  function goTo(line) {
    const lines = area.value.split('\n');
    const start = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line]?.length ?? 0));
    area.scrollTop = Math.max(0, (line / lines.length) * area.scrollHeight - area.clientHeight / 2);
  }
}
