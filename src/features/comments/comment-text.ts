import { InvalidError } from '../../errors.js';
import { isId } from '../../http/parameters.js';
import type { CommentPlace, CommentShape } from './comment.model.js';

/** Maximum length of a comment in characters. */
export const maxTextLength = 5000;
/** Maximum number of users that a comment can mention. Further mentions are only text. */
const maxMentions = 20;
/** Coordinates up to this size are exact in every program that reads an export. */
const maxCoordinate = 1e9;

const allowedMembers = {
  comment: ['text', 'place', 'shape'],
  reply: ['text'],
  edit: ['text', 'version'],
  place: ['x', 'y', 'frame'],
  shape: ['annotationId', 'elementId'],
} as const;

type Json = Readonly<Record<string, unknown>>;

/** @throws InvalidError for unknown members of a comment or of its parts. */
export function refuseUnknownMembers(sentValue: Json, kind: keyof typeof allowedMembers): void {
  const members: readonly string[] = allowedMembers[kind];
  const unknownName = Object.keys(sentValue).find((name) => !members.includes(name));
  if (unknownName === undefined) return;
  const name = unknownName.slice(0, 40);
  throw new InvalidError(`${JSON.stringify(name)} is not one of ${members.join(', ')}.`, name);
}

/** The text of a comment as it is stored. It is never markup. @throws InvalidError */
export function readText(sentValue: unknown): string {
  if (typeof sentValue !== 'string') throw new InvalidError('text must be a string.', 'text');
  const text = sentValue.replaceAll(/\r\n?/g, '\n').trim();
  if (text === '') throw new InvalidError('text must not be empty.', 'text');
  if (text.length > maxTextLength) throw new InvalidError(`text must have at most ${maxTextLength} characters.`, 'text');
  if (/[^\P{Cc}\n\t]/u.test(text) || /\p{Surrogate}/u.test(text)) {
    throw new InvalidError('text must not contain control characters or unpaired surrogates.', 'text');
  }
  return text;
}

/** The logins that a text mentions: `@login` at the beginning of a word. */
export function loginsIn(text: string): string[] {
  const logins = new Set<string>();
  for (const [, login] of text.matchAll(/(?<![\p{L}\p{N}_.@/-])@([\p{L}\p{N}](?:[\p{L}\p{N}._-]{0,62}[\p{L}\p{N}_])?)/gu)) {
    if (logins.size === maxMentions) break;
    logins.add(login!.toLowerCase());
  }
  return [...logins];
}

/** @throws InvalidError */
export function readPlace(sentValue: unknown): CommentPlace | null {
  if (sentValue === undefined || sentValue === null) return null;
  if (!isObject(sentValue)) throw new InvalidError('place must be an object with x and y.', 'place');
  refuseUnknownMembers(sentValue, 'place');
  const { x, y, frame } = sentValue;
  for (const value of [x, y]) {
    if (typeof value === 'number' && Math.abs(value) <= maxCoordinate) continue;
    throw new InvalidError(`x and y of place must be numbers from -${maxCoordinate} to ${maxCoordinate}.`, 'place');
  }
  const place = { x: x as number, y: y as number };
  if (frame === undefined || frame === null) return place;
  if (!Number.isInteger(frame) || (frame as number) < 0 || (frame as number) > maxCoordinate) {
    throw new InvalidError('frame of place must be a whole number, 0 or more.', 'place');
  }
  return { ...place, frame: frame as number };
}

/** @throws InvalidError */
export function readShape(sentValue: unknown): CommentShape | null {
  if (sentValue === undefined || sentValue === null) return null;
  if (!isObject(sentValue)) throw new InvalidError('shape must be an object with annotationId and elementId.', 'shape');
  refuseUnknownMembers(sentValue, 'shape');
  const readId = (name: keyof CommentShape) => {
    const id = sentValue[name];
    if (typeof id !== 'string' || !isId(id)) throw new InvalidError(`${name} of shape must be an id.`, 'shape');
    return id.toLowerCase();
  };
  return { annotationId: readId('annotationId'), elementId: readId('elementId') };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
