import { fill, h } from '../dom.js';

/** A text area with numbered lines, which can be marked. */
export function codeEditor({ label, onInput }: { label: string; onInput: () => void }) {
  const lineNumbers = h('div.line-numbers.quiet-text', { 'aria-hidden': 'true' });
  const textArea = h('textarea.editor-text.grow', {
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
  const element = h('div.editor', lineNumbers, textArea);
  return { element, markLines, setText, goToLine, text: () => textArea.value };

  function setText(text: string) {
    textArea.value = text;
    showNumbers();
  }

  /** Numbers the lines, and removes all marks. */
  function showNumbers() {
    const count = textArea.value.split('\n').length;
    if (count !== lineNumbers.childElementCount)
      fill(lineNumbers, ...Array.from({ length: count }, (_none, index) => h('div', index + 1)));
    markLines([]);
    scrollNumbers();
  }

  /** Marks lines, counted from 0. */
  function markLines(lines: number[]) {
    const markedLines = new Set(lines);
    for (const [index, number] of [...lineNumbers.children].entries()) number.classList.toggle('failing', markedLines.has(index));
    // The marks are bands in the background of the text area, so they scroll with the text.
    textArea.style.backgroundImage = [...markedLines].map(() => 'linear-gradient(var(--danger-soft) 0 0)').join();
    textArea.style.backgroundPosition = [...markedLines].map((line) => `0 calc(0.6rem + ${line} * var(--line-height))`).join();
    textArea.setAttribute('aria-invalid', String(markedLines.size > 0));
  }

  function scrollNumbers() {
    lineNumbers.scrollTop = textArea.scrollTop;
  }

  /** Puts the cursor on a line. */
  function goToLine(line: number) {
    const lines = textArea.value.split('\n');
    const start = lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
    textArea.focus();
    textArea.setSelectionRange(start, start + (lines[line]?.length ?? 0));
    textArea.scrollTop = Math.max(0, (line / lines.length) * textArea.scrollHeight - textArea.clientHeight / 2);
  }
}
