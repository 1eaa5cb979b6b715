import { indentOf, strip, stripEnd } from './python-text.js';
import { reprString } from './python-value.js';

/** An error in a configuration text. */
export interface ConfigProblem {
  /** Zero-based line. */
  line: number;
  message: string;
}

/** A line that starts with `#` or `;`. */
export interface ConfigComment {
  kind: 'comment';
  /** The line as written, with its line break if it has one. */
  text: string;
  /**
   * The option whose value may continue after the comment, and the number of the value's lines before the comment; `null` if no value can
   * continue.
   */
  within: { option: ConfigOption; lineCount: number } | null;
}

/** A section header. The options of the section `DEFAULT` appear in every section. */
interface ConfigSection {
  kind: 'section';
  name: string;
}

/** One line of a value. */
interface ConfigLine {
  /** Zero-based line in the text. */
  lineIndex: number;
  /** The part of the line that belongs to the value, without white space at its ends. */
  text: string;
  /** White space before the text; empty on the line with the option's name. */
  indent: string;
}

/** An option with its value, which may take several lines. */
export interface ConfigOption {
  kind: 'option';
  section: string;
  name: string;
  lines: ConfigLine[];
}

/** A part of a text. The entries are in the order of the text; blank lines are left out unless they belong to a value. */
export type ConfigEntry = ConfigComment | ConfigSection | ConfigOption;

/** Name of the section whose options appear in every other section. */
export const defaultSection = 'DEFAULT';

/** The text of an option's value before interpolation: its lines joined, without trailing white space. */
export function optionText(option: ConfigOption): string {
  const [first] = option.lines;
  if (option.lines.length === 1 && first !== undefined) return first.text;
  return stripEnd(option.lines.map((line) => line.text).join('\n'));
}

/** Parses a text into sections, options and comments, without parsing the values of options. */
export function parseConfig(text: string): { entries: ConfigEntry[]; problem: ConfigProblem | null } {
  const reader = new ConfigReader();
  let line = 0;
  for (let start = 0; start < text.length; line += 1) {
    const end = text.indexOf('\n', start);
    const nextStart = end < 0 ? text.length : end + 1;
    const problem = reader.readLine(text.slice(start, nextStart), line);
    if (problem !== null) return { entries: [], problem };
    start = nextStart;
  }
  return reader.firstErrorLine === null
    ? { entries: reader.entries, problem: null }
    : { entries: [], problem: { line: reader.firstErrorLine, message: 'Source contains parsing errors' } };
}

/** Reads line by line, because whether a line continues a value depends on the lines before it. */
class ConfigReader {
  readonly entries: ConfigEntry[] = [];
  /** First line that is not a header, option or continuation. It is reported only if no section or option is repeated further down. */
  firstErrorLine: number | null = null;
  readonly #namesBySection = new Map<string, Set<string>>();
  #section: string | null = null;
  #option: ConfigOption | null = null;
  /** Indentation of the last line that was not blank, a comment or a continuation. Lines that are indented more continue a value. */
  #baseIndent = 0;

  /** Reads one line. @returns a problem that ends parsing immediately, or `null`. */
  readLine(line: string, lineIndex: number): ConfigProblem | null {
    const text = strip(line);
    if (text.startsWith('#') || text.startsWith(';')) {
      this.entries.push({ kind: 'comment', text: line, within: this.#optionToContinue() });
      return null;
    }
    if (text === '') {
      this.#option?.lines.push({ lineIndex, text: '', indent: '' });
      return null;
    }
    const indent = indentOf(line);
    if (this.#option !== null && indent > this.#baseIndent) {
      this.#option.lines.push({ lineIndex, text, indent: line.slice(0, indent) });
      return null;
    }
    this.#baseIndent = indent;
    const closingBracket = text.startsWith('[') ? text.lastIndexOf(']') : -1;
    if (closingBracket > 1) return this.#startSection(text.slice(1, closingBracket), lineIndex);
    if (this.#section === null) return { line: lineIndex, message: 'File contains no section headers.' };
    return this.#startOption(this.#section, text, lineIndex);
  }

  #optionToContinue(): ConfigComment['within'] {
    return this.#option === null ? null : { option: this.#option, lineCount: this.#option.lines.length };
  }

  #startSection(name: string, lineIndex: number): ConfigProblem | null {
    if (name !== defaultSection && this.#namesBySection.has(name)) {
      return { line: lineIndex, message: `${lineLabel(lineIndex)}: section ${reprString(name)} already exists` };
    }
    if (!this.#namesBySection.has(name)) this.#namesBySection.set(name, new Set());
    this.#section = name;
    this.#option = null;
    this.entries.push({ kind: 'section', name });
    return null;
  }

  #startOption(section: string, text: string, lineIndex: number): ConfigProblem | null {
    const delimiterIndex = text.search(/[=:]/);
    if (delimiterIndex < 0) {
      this.firstErrorLine ??= lineIndex;
      return null;
    }
    const name = stripEnd(text.slice(0, delimiterIndex));
    if (name === '') this.firstErrorLine ??= lineIndex;
    const names = this.#namesBySection.get(section);
    if (names?.has(name)) {
      const label = `${lineLabel(lineIndex)}: option ${reprString(name)} in section ${reprString(section)}`;
      return { line: lineIndex, message: `${label} already exists` };
    }
    names?.add(name);
    const option: ConfigOption = {
      kind: 'option',
      section,
      name,
      lines: [{ lineIndex, text: strip(text.slice(delimiterIndex + 1)), indent: '' }],
    };
    this.entries.push(option);
    // An option without a name has no continuation lines.
    this.#option = name === '' ? null : option;
    return null;
  }
}

function lineLabel(lineIndex: number): string {
  return `[line ${String(lineIndex + 1).padStart(2)}]`;
}
