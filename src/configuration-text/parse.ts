import { indentOf, strip, stripEnd } from './python-text.js';
import { reprString } from './python-value.js';

/** Something wrong with a configuration text. */
export interface ConfigProblem {
  /** Zero-based line. */
  line: number;
  message: string;
}

/** A line that starts with `#` or `;`. */
export interface ConfigComment {
  kind: 'comment';
  /** The line as it stands, with its end if it has one. */
  text: string;
  /** The option whose value is open here and how many lines of it come before; `null` where no value is open. */
  within: { option: ConfigOption; lineCount: number } | null;
}

/** A section header. `DEFAULT` is none of the sections: its options appear in every section. */
interface ConfigSection {
  kind: 'section';
  name: string;
}

/** One line of a value. */
interface ConfigLine {
  /** Zero-based line in the text. */
  line: number;
  /** The part of the line that belongs to the value, without white space on both sides. */
  text: string;
  /** White space before it on its line; empty on the line of the option itself. */
  indent: string;
}

/** An option with its value, which may go on over several lines. */
export interface ConfigOption {
  kind: 'option';
  section: string;
  name: string;
  lines: ConfigLine[];
}

/** What a text holds, in its order. Blank lines are left out where they belong to no value. */
export type ConfigEntry = ConfigComment | ConfigSection | ConfigOption;

/** Name of the section whose options appear in every other. */
export const defaultSection = 'DEFAULT';

/** The value of an option before interpolation: its lines joined, trailing white space gone. */
export function optionText(option: ConfigOption): string {
  const [first] = option.lines;
  if (option.lines.length === 1 && first !== undefined) return first.text;
  return stripEnd(option.lines.map((line) => line.text).join('\n'));
}

/** Splits a text by the grammar of `administration.md` 3.1; a problem where it breaks it. Values are not looked at. */
export function parseConfig(text: string): { entries: ConfigEntry[]; problem: ConfigProblem | null } {
  const reader = new ConfigReader();
  let line = 0;
  for (let start = 0; start < text.length; line += 1) {
    const end = text.indexOf('\n', start);
    const next = end < 0 ? text.length : end + 1;
    const problem = reader.readLine(text.slice(start, next), line);
    if (problem !== null) return { entries: [], problem };
    start = next;
  }
  return reader.firstError === null
    ? { entries: reader.entries, problem: null }
    : { entries: [], problem: { line: reader.firstError, message: 'Source contains parsing errors' } };
}

/** State of the reading: one line after another, as continuation depends on what came before. */
class ConfigReader {
  readonly entries: ConfigEntry[] = [];
  /** First line that is neither header, option nor continuation. Reported at the end: a later duplicate goes before it. */
  firstError: number | null = null;
  readonly #seen = new Map<string, Set<string>>();
  #section: string | null = null;
  #option: ConfigOption | null = null;
  #indent = 0;

  /** Takes in one line; a problem that ends the reading at once, or `null`. */
  readLine(line: string, index: number): ConfigProblem | null {
    const text = strip(line);
    if (text.startsWith('#') || text.startsWith(';')) {
      this.entries.push({ kind: 'comment', text: line, within: this.#open() });
      return null;
    }
    if (text === '') {
      this.#option?.lines.push({ line: index, text: '', indent: '' });
      return null;
    }
    const indent = indentOf(line);
    if (this.#option !== null && indent > this.#indent) {
      this.#option.lines.push({ line: index, text, indent: line.slice(0, indent) });
      return null;
    }
    this.#indent = indent;
    const bracket = text.startsWith('[') ? text.lastIndexOf(']') : -1;
    if (bracket > 1) return this.#startSection(text.slice(1, bracket), index);
    if (this.#section === null) return { line: index, message: 'File contains no section headers.' };
    return this.#startOption(this.#section, text, index);
  }

  #open(): ConfigComment['within'] {
    return this.#option === null ? null : { option: this.#option, lineCount: this.#option.lines.length };
  }

  #startSection(name: string, index: number): ConfigProblem | null {
    if (name !== defaultSection && this.#seen.has(name)) {
      return { line: index, message: `${lineLabel(index)}: section ${reprString(name)} already exists` };
    }
    if (!this.#seen.has(name)) this.#seen.set(name, new Set());
    this.#section = name;
    this.#option = null;
    this.entries.push({ kind: 'section', name });
    return null;
  }

  #startOption(section: string, text: string, index: number): ConfigProblem | null {
    const delimiter = text.search(/[=:]/);
    if (delimiter < 0) {
      this.firstError ??= index;
      return null;
    }
    const name = stripEnd(text.slice(0, delimiter));
    if (name === '') this.firstError ??= index;
    const names = this.#seen.get(section);
    if (names?.has(name)) {
      const label = `${lineLabel(index)}: option ${reprString(name)} in section ${reprString(section)}`;
      return { line: index, message: `${label} already exists` };
    }
    names?.add(name);
    const option: ConfigOption = {
      kind: 'option',
      section,
      name,
      lines: [{ line: index, text: strip(text.slice(delimiter + 1)), indent: '' }],
    };
    this.entries.push(option);
    // Nothing can continue an option without a name.
    this.#option = name === '' ? null : option;
    return null;
  }
}

function lineLabel(index: number): string {
  return `[line ${String(index + 1).padStart(2)}]`;
}
