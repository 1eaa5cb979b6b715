import { fill, h } from '../dom.js';

/** A text area with numbered lines, which can be marked. */
export function codeEditor({ label, onInput }: { label: string; onInput: () => void }) {
  const numbers = h('div.line-numbers.quiet-text', { 'aria-hidden': 'true' });
  const area = h('textarea.editor-text.grow', {
    'aria-label': label,
    rows: 18,
    wrap: 'off',
    spellcheck: 'false',
    autocapitalize: 'none',
    oninput: () => {
      showNumbers();
      onInput();
    },
    onscroll: scrollNumbers,
  });
  const element = h('div.editor', numbers, area);
  return { element, markLines, setText, goToLine, text: () => area.value };

  function setText(text: string) {
    area.value = text;
    showNumbers();
  }

  /** Numbers the lines, without marks. */
  function showNumbers() {
    const count = area.value.split('\n').length;
    if (count !== numbers.childElementCount)
      fill(numbers, ...Array.from({ length: count }, (_none, index) => h('div', index + 1)));
    markLines([]);
    scrollNumbers();
  }

  /** Marks lines, counted from 0. */
  function markLines(lines: number[]) {
    const marked = new Set(lines);
    for (const [index, number] of [...numbers.children].entries()) number.classList.toggle('failing', marked.has(index));
    // The marks are bands in the background of the text area, so they scroll with the text.
    area.style.backgroundImage = [...marked].map(() => 'linear-gradient(var(--danger-soft) 0 0)').join();
    area.style.backgroundPosition = [...marked].map((line) => `0 calc(0.6rem + ${line} * var(--line-height))`).join();
    area.setAttribute('aria-invalid', String(marked.size > 0));
  }

  function scrollNumbers() {
    numbers.scrollTop = area.scrollTop;
  }

  /** Puts the cursor on a line. */
  function goToLine(line: number) {
    const lines = area.value.split('\n');
    const start = lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line]?.length ?? 0));
    area.scrollTop = Math.max(0, (line / lines.length) * area.scrollHeight - area.clientHeight / 2);
  }
}
