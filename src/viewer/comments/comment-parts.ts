import { h, type Child } from '../dom.js';
import { commentTexts as texts } from '../comment-texts.js';
import { formatDate } from '../format.js';
import type { Comment } from './comment-requests.js';

/** A user as comments show them. */
type Person = Comment['author'];

/** The name of a user to display. The server may hide the name from the reader. */
export function personName(person: Person) {
  if (person === null) return texts.formerUser;
  return person.name?.trim() || person.login || texts.otherUser;
}

/** Author and dates of a comment. */
export function byline({ author, created, edited, unread }: Comment) {
  const name = h('strong', { title: author?.login ?? null }, personName(author));
  const dates = h('span.quiet-text.small', formatDate(created), edited !== null && ` · ${texts.edited(formatDate(edited))}`);
  return h('div.row.wrap.comment-byline', name, dates, unread && h('span.tag', texts.unread));
}

/** The text of a comment, in which the logins of mentioned users are highlighted. */
export function commentText({ text, mentions, deleted }: Comment) {
  if (deleted) return h('p.quiet-text', texts.deletedText);
  const logins = new Set(mentions.map(({ login }) => login?.toLowerCase()));
  const parts: Child[] = [];
  let copiedLength = 0;
  // A dot or hyphen at the end belongs to the sentence, not to the login.
  for (const { index, 0: name } of text.matchAll(/@[\p{L}\p{N}_]+(?:[.-]+[\p{L}\p{N}_]+)*/gu)) {
    if (!logins.has(name.slice(1).toLowerCase())) continue;
    parts.push(text.slice(copiedLength, index), h('strong.mention', name));
    copiedLength = index + name.length;
  }
  return h('p.comment-text.break', { dir: 'auto' }, ...parts, text.slice(copiedLength));
}
