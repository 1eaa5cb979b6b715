import { fill, h } from '../dom.js';

/** A text area with numbered lines, of which some can be marked. */
export function codeEditor({ label, onInput }: { label: string; onInput: () => void }) {
  const numbers = h('div.line-numbers.quiet-text', { 'aria-hidden': 'true' });
  const bands = h('div.line-bands', { 'aria-hidden': 'true' });
  const area = h('textarea.editor-text', {
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
  const element = h('div.editor', numbers, h('div.editor-main.grow', bands, area));
  let marked: Set<number> = new Set();
  let count = 0;
  return { element, mark, setText, goTo, text: () => area.value };

  function setText(text: string) {
    area.value = text;
    mark([]);
    showNumbers();
  }

  function showNumbers() {
    const lines = area.value.split('\n').length;
    if (lines !== count) {
      count = lines;
      fill(numbers, ...Array.from({ length: lines }, (_none, index) => h('div', index + 1)));
      mark([...marked]);
    }
    follow();
  }

  /** Marks lines, counted from 0. */
  function mark(lines: number[]) {
    for (const line of marked) numbers.children[line]?.classList.remove('failing');
    marked = new Set(lines);
    fill(bands);
    for (const line of marked) {
      numbers.children[line]?.classList.add('failing');
      const band = h('div.line-band');
      band.style.top = `calc(${line} * var(--line-height))`;
      bands.append(band);
    }
    area.setAttribute('aria-invalid', String(marked.size > 0));
  }

  function follow() {
    numbers.scrollTop = area.scrollTop;
    bands.style.transform = `translateY(${-area.scrollTop}px)`;
  }

  /** Puts the cursor in a line. */
  function goTo(line: number) {
    const lines = area.value.split('\n');
    const start = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line]?.length ?? 0));
    area.scrollTop = Math.max(0, (line / lines.length) * area.scrollHeight - area.clientHeight / 2);
  }
}
