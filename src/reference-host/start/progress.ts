import { SingleBar } from 'cli-progress';
import type { Progress } from '../database/database-options.js';

/** Shows progress on a terminal as a bar, elsewhere as lines, about one every five seconds. */
export interface ProgressDisplay {
  showProgress(progress: Progress): void;
  /** Ends the bar, if there is one, and writes a line below it. */
  writeLine(text: string): void;
  /** Ends the bar. Its last state stays on the terminal. */
  endProgress(): void;
}

const lineIntervalMs = 5000;

/** @param stream gets a bar if it is a terminal, otherwise lines */
export function createProgressDisplay(stream: NodeJS.WriteStream): ProgressDisplay {
  return stream.isTTY ? createBarDisplay(stream) : createLineDisplay(stream);
}

function createBarDisplay(stream: NodeJS.WriteStream): ProgressDisplay {
  let bar: SingleBar | null = null;
  let title = '';
  const endProgress = (): void => {
    bar?.stop();
    bar = null;
    title = '';
  };
  const writeLine = (text: string): void => {
    endProgress();
    stream.write(`${text}\n`);
  };
  return {
    endProgress,
    writeLine,
    showProgress({ text, fraction }) {
      if (fraction === undefined) {
        if (text !== title) writeLine(text);
        title = text;
        return;
      }
      const newTitle = textBeforeNumbers(text);
      if (bar === null || newTitle !== title) {
        endProgress();
        title = newTitle;
        bar = new SingleBar({ stream, format: '{title} {bar} {percentage}%', hideCursor: null, clearOnComplete: false });
        bar.start(100, 0, { title: newTitle });
      }
      bar.update(Math.floor(fraction * 100));
      if (fraction >= 1) endProgress();
    },
  };
}

function createLineDisplay(stream: NodeJS.WriteStream): ProgressDisplay {
  let lastTitle = '';
  let lastShownAt = 0;
  return {
    endProgress: () => undefined,
    writeLine: (text) => {
      stream.write(`${text}\n`);
    },
    showProgress({ text, fraction }) {
      const now = Date.now();
      const title = textBeforeNumbers(text);
      if (title === lastTitle && now - lastShownAt < lineIntervalMs && fraction !== 1) return;
      lastTitle = title;
      lastShownAt = now;
      const percent = fraction === undefined ? '' : ` ${Math.floor(fraction * 100)} %`;
      stream.write(`${title.length < text.length && fraction !== undefined ? title : text}${percent}\n`);
    },
  };
}

const units: ReadonlySet<string> = new Set(['%', 'mb', 's', 'files']);

/** The start of the text, before the figures that change with each report. */
function textBeforeNumbers(text: string): string {
  for (const { index, 1: unit = '' } of text.matchAll(/[\d.]+ ?([a-z]+|%|)/gi)) {
    if (units.has(unit.toLowerCase())) return text.slice(0, index).trimEnd().replace(/:$/, '');
  }
  return text;
}
