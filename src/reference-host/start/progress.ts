import { SingleBar } from 'cli-progress';
import type { Progress } from '../database/database-options.js';

/** Shows progress on a terminal as a bar, elsewhere as lines, about one every five seconds. */
export interface ProgressDisplay {
  report(progress: Progress): void;
  /** Writes a line without disturbing the bar. */
  writeLine(text: string): void;
  /** Removes the bar. */
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
  const end = (): void => {
    bar?.stop();
    bar = null;
    title = '';
  };
  const line = (text: string): void => {
    end();
    stream.write(`${text}\n`);
  };
  return {
    endProgress: end,
    writeLine: line,
    report({ text, fraction }) {
      if (fraction === undefined) {
        if (text !== title) line(text);
        title = text;
        return;
      }
      const name = beforeNumbers(text);
      if (bar === null || name !== title) {
        end();
        title = name;
        bar = new SingleBar({ stream, format: '{title} {bar} {percentage}%', hideCursor: null, clearOnComplete: false });
        bar.start(100, 0, { title: name });
      }
      bar.update(Math.floor(fraction * 100));
      if (fraction >= 1) end();
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
    report({ text, fraction }) {
      const now = Date.now();
      const title = beforeNumbers(text);
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
function beforeNumbers(text: string): string {
  for (const { index, 1: unit = '' } of text.matchAll(/[\d.]+ ?([a-z]+|%|)/gi)) {
    if (units.has(unit.toLowerCase())) return text.slice(0, index).trimEnd().replace(/:$/, '');
  }
  return text;
}
