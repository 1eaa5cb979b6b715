const maxCharacters = 1000;
/** Highest number in a quantifier such as `{2,10}`. */
const maxRepetitions = 100;
/** Maximum number of repetitions and alternatives in an expression. */
const maxChoices = 20;

/**
 * Says why a regular expression must not be sent to a database, such as `contains a back-reference`; `null` if it may be sent.
 * A database tries one way of matching after another. If a repeated group can itself match in several ways, the number of ways
 * doubles with each character of the searched text.
 */
export function findExpressionProblem(expression: unknown): string | null {
  if (typeof expression !== 'string' || expression.length > maxCharacters)
    return `is not a text of at most ${maxCharacters} characters`;
  // Databases accept flags at the beginning of an expression, which JavaScript does not.
  const text = expression.replace(/^\(\?[imsx]+\)/, '');
  try {
    RegExp(text);
  } catch {
    return 'is not a valid or supported regular expression';
  }
  return findAmbiguity(text);
}

interface GroupOrElement {
  /** Whether the group or element can match the same text in several ways. */
  isAmbiguous: boolean;
}

const tokens = /\\[\s\S]|\[\^?\]?(?:\\(?:[\s\S]|$)|[^\]\\])*(?:\]|$)|\(\?:|\([?*]|\{(\d+)(?:(,)(\d*))?\}|[\s\S]/g;

function findAmbiguity(text: string): string | null {
  const groups: GroupOrElement[] = [{ isAmbiguous: false }];
  let lastElement: GroupOrElement = { isAmbiguous: false };
  let choiceCount = 0;
  for (const [token, min, comma, max] of text.matchAll(tokens)) {
    const group = groups.at(-1)!;
    if (/^\\[1-9kgQE]/.test(token)) return 'contains a back-reference';
    if (token === '(?' || token === '(*') return 'contains a look-around, or a group other than (…) and (?:…)';
    if (token === '(' || token === '(?:') groups.push({ isAmbiguous: false });
    else if (token === ')') {
      lastElement = groups.pop()!;
      groups.at(-1)!.isAmbiguous ||= lastElement.isAmbiguous;
    } else if (token === '|') {
      group.isAmbiguous = true;
      choiceCount += 1;
    } else if (token === '*' || token === '+' || token === '?' || min !== undefined) {
      const maxCount = min === undefined ? Infinity : Number(comma === undefined ? min : max || Infinity);
      if (maxCount !== Infinity && maxCount > maxRepetitions) return `repeats something more than ${maxRepetitions} times`;
      if (lastElement.isAmbiguous && token !== '?' && maxCount > 1)
        return 'repeats a group that contains repetitions or alternatives';
      group.isAmbiguous ||= min === undefined || comma !== undefined;
      // The `?` of a lazy quantifier such as `+?` also gets here. It changes only the order in which the ways are tried.
      choiceCount += 1;
    } else lastElement = { isAmbiguous: false };
    if (choiceCount > maxChoices) return `has more than ${maxChoices} repetitions and alternatives`;
  }
  return null;
}
