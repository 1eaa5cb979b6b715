import {
  anyInteger,
  anyNumber,
  anyObject,
  anyText,
  component,
  dateText,
  idText,
  listOf,
  objectOf,
  orNull,
  anyBoolean,
} from '../../http/schemas.js';
import { maxTextLength } from './comment-text.js';

const person = component('CommentPerson', objectOf({ id: idText, login: orNull(anyText), name: orNull(anyText) }));

const place = component(
  'CommentPlace',
  objectOf(
    { x: { ...anyNumber, description: 'In pixels of the full-resolution image, from the left.' }, y: anyNumber },
    { frame: { ...anyInteger, description: 'The frame that was shown.' } },
  ),
);

const members = {
  _id: idText,
  itemId: idText,
  threadId: { ...orNull(idText), description: 'The first comment of the thread; `null` for that comment itself.' },
  text: { ...anyText, description: 'Plain text, never markup. Empty if it was deleted.' },
  place: orNull(place),
  shape: orNull(
    objectOf({
      annotationId: idText,
      elementId: idText,
      available: { ...anyBoolean, description: 'Whether the shape exists and you can see it.' },
    }),
  ),
  author: { ...orNull(person), description: '`null` if the account was removed.' },
  created: dateText,
  edited: orNull(dateText),
  version: { ...anyInteger, description: 'Number of versions of the text.' },
  state: { type: 'string', enum: ['open', 'resolved'] },
  resolved: orNull(objectOf({ by: orNull(person), at: dateText })),
  deleted: { ...anyBoolean, description: 'Whether it was deleted while it had replies, which are kept.' },
  replies: { ...anyInteger, description: 'Number of replies.' },
  mentions: listOf(person),
  own: { ...anyBoolean, description: 'Whether you wrote it.' },
  unread: { ...anyBoolean, description: 'Whether it is in your inbox and unread.' },
} as const;

export const commentSchema = component('Comment', objectOf(members));

export const inboxSchema = listOf(
  component('InboxComment', objectOf({ ...members, item: objectOf({ _id: idText, name: anyText, folderId: idText }) })),
);

export const placesSchema = listOf(
  component('CommentMark', objectOf({ _id: idText, place, state: { type: 'string', enum: ['open', 'resolved'] } })),
);

const { own: _own, unread: _unread, version: _version, ...exportedMembers } = members;

const featureCollection = objectOf({
  type: { const: 'FeatureCollection' },
  features: listOf(objectOf({ type: { const: 'Feature' }, id: idText, geometry: orNull(anyObject), properties: anyObject })),
});

/** The response as JSON and as GeoJSON. */
export const exportSchema = { oneOf: [listOf(component('ExportedComment', objectOf(exportedMembers))), featureCollection] };

const newText = {
  type: 'string',
  maxLength: maxTextLength,
  description: 'Plain text. `@login` mentions a user, in whose inbox the comment appears.',
};

export const newCommentSchema = component(
  'NewComment',
  objectOf(
    { text: newText },
    {
      place: { ...orNull(place), description: 'Default: the center of the shape; without a shape, the whole image.' },
      shape: orNull(objectOf({ annotationId: idText, elementId: idText })),
    },
  ),
);

export const replySchema = component('CommentReply', objectOf({ text: newText }));

export const editSchema = component(
  'CommentEdit',
  objectOf(
    { text: newText },
    {
      version: {
        ...anyInteger,
        description: 'The version to change. If the comment has a different version, the response is 409.',
      },
    },
  ),
);
