import { ApiError } from '../api.js';
import { commentTexts as texts } from '../comment-texts.js';
import { h } from '../dom.js';
import { choice, field, form } from '../forms.js';
import { commonTexts } from '../texts.js';
import type { CommentPlace, Target } from './requests.js';
import { commentField } from './writing.js';

/** The places and shapes that a new comment can be about. */
export interface Aim {
  /** the place and the shape at a point of the stage */
  at: (point: { x: number; y: number }) => { place: CommentPlace; shape: Target['shape'] };
  /** the middle of the view */
  middle: () => CommentPlace;
  /** the shape that is selected at the moment */
  selected: () => Target['shape'];
  /** marks the place of the new comment; `null` removes the mark */
  showNew: (place: CommentPlace | null) => void;
}

type Subject = 'image' | 'place' | 'shape';

/** A form for a comment on an image, at a place, or at a shape. Clicks on the image choose the place or shape. */
export function newCommentForm(options: { aim: Aim; close: () => void; send: (json: object) => Promise<void> }) {
  const { aim, close, send } = options;
  let shape = aim.selected();
  let place: CommentPlace | null = null;
  const about = choice({ image: texts.aboutImage, place: texts.aboutPlace, shape: texts.aboutShape }, '', { name: 'about' });
  about.addEventListener('change', () => choose(about.value as Subject));
  choose(shape === null ? 'image' : 'shape');
  const { element: text, input } = commentField(texts.text);
  const cancel = h('button.button', { onclick: close }, commonTexts.cancel);
  const element = form({
    content: [field(texts.about, about, texts.chooseHint), text],
    action: texts.send,
    otherButtons: [cancel],
    send: () => sendText(input.value),
  });
  element.classList.add('new-comment');
  element.ariaLabel = texts.add;
  return { element, close, focus: () => input.focus(), clicked };

  function choose(subject: Subject) {
    if (subject === 'place') place ??= aim.middle();
    about.value = subject;
    const shapeOption = about.options[2];
    if (shapeOption) shapeOption.disabled = shape === null;
    aim.showNew(subject === 'image' ? null : place);
  }

  function clicked(point: { x: number; y: number }) {
    const target = aim.at(point);
    ({ place } = target);
    shape = target.shape ?? null;
    choose(shape === null ? 'place' : 'shape');
  }

  async function sendText(words: string) {
    const subject = about.value as Subject;
    const json = {
      text: words,
      ...(subject !== 'image' && place && { place }),
      ...(subject === 'shape' && { shape }),
    };
    try {
      await send(json);
    } catch (error) {
      const isUnsaved = subject === 'shape' && error instanceof ApiError && error.status === 404;
      throw isUnsaved ? new Error(texts.unsavedShape) : error;
    }
  }
}
