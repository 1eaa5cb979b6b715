import type { Groups } from './groups.js';
import { groupsOf } from './requests.js';
import type { Sheet } from './sheet.js';

/** Learns the groups of an annotation from the server, once for each version. */
export class KnownGroups {
  /** version of the annotation whose groups are known; `null` until they are requested, because versions begin at 0 */
  #version: number | null = null;

  constructor(
    private readonly sheet: Sheet,
    private readonly groups: Groups,
    private readonly signal: AbortSignal,
  ) {}

  /** The groups of a version that was made here are known. */
  skip(version: number) {
    this.#version = version;
  }

  /**
   * Learns the groups of the current version, with the colors that they have on the slide. Those known before keep theirs.
   *
   * @returns whether something else has to be offered: the user may be choosing a color or a group
   */
  async learn(): Promise<boolean> {
    const { record } = this.sheet;
    if (this.#version === record._version) return false;
    const isFirst = this.#version === null;
    this.#version = record._version;
    if (record._elementCount === 0) return false;
    const seen = await groupsOf(record, this.signal);
    const known = this.groups.size;
    this.groups.learn(seen, isFirst);
    return isFirst || this.groups.size !== known;
  }
}
