/** Longest word and most words that are kept of one text; the rest of a text is not searched. */
const maxWordLength = 64;
const maxWords = 500;

/** The words of texts, for search: lower case, letters and digits only, each once. */
export function wordsOf(...texts: (string | null | undefined)[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    for (const [word] of (text ?? '')
      .normalize('NFKC')
      .toLowerCase()
      .matchAll(/[\p{L}\p{N}]+/gu)) {
      if (words.size === maxWords) return [...words];
      words.add(word.slice(0, maxWordLength));
    }
  }
  return [...words];
}
