import { ApiError } from '../api.js';
import { commentTexts as texts } from '../comment-texts.js';
import { h } from '../dom.js';
import { choice, field, form } from '../forms.js';
import { commonTexts } from '../texts.js';
import type { CommentPlace, CommentTarget } from './comment-requests.js';
import { commentField } from './comment-field.js';

/** The places and shapes that a new comment can be about. */
export interface CommentTargets {
  /** the place and the shape at a point of the stage */
  targetAt: (stagePoint: { x: number; y: number }) => { place: CommentPlace; shape: CommentTarget['shape'] };
  /** the middle of the view */
  viewCenter: () => CommentPlace;
  /** the currently selected shape; `null` if there is none */
  selectedShape: () => CommentTarget['shape'];
  /** marks the place of the new comment; `null` removes the mark */
  markPlace: (place: CommentPlace | null) => void;
}

type Subject = 'image' | 'place' | 'shape';

/** A form for a comment on an image, at a place, or at a shape. Clicks on the image choose the place or shape. */
export function newCommentForm(options: { targets: CommentTargets; close: () => void; send: (json: object) => Promise<void> }) {
  const { targets, close, send } = options;
  let shape = targets.selectedShape();
  let place: CommentPlace | null = null;
  const subjectChoice = choice({ image: texts.aboutImage, place: texts.aboutPlace, shape: texts.aboutShape }, '', {
    name: 'about',
  });
  subjectChoice.addEventListener('change', () => chooseSubject(subjectChoice.value as Subject));
  chooseSubject(shape === null ? 'image' : 'shape');
  const { element: textField, input } = commentField(texts.text);
  const cancelButton = h('button.button', { onclick: close }, commonTexts.cancel);
  const element = form({
    content: [field(texts.about, subjectChoice, texts.chooseHint), textField],
    action: texts.send,
    otherButtons: [cancelButton],
    send: () => sendText(input.value),
  });
  element.classList.add('new-comment');
  element.ariaLabel = texts.add;
  return { element, close, focus: () => input.focus(), onStageClick };

  function chooseSubject(subject: Subject) {
    if (subject === 'place') place ??= targets.viewCenter();
    subjectChoice.value = subject;
    const shapeOption = subjectChoice.options[2];
    if (shapeOption) shapeOption.disabled = shape === null;
    targets.markPlace(subject === 'image' ? null : place);
  }

  function onStageClick(stagePoint: { x: number; y: number }) {
    const target = targets.targetAt(stagePoint);
    ({ place } = target);
    shape = target.shape ?? null;
    chooseSubject(shape === null ? 'place' : 'shape');
  }

  async function sendText(text: string) {
    const subject = subjectChoice.value as Subject;
    const json = {
      text,
      ...(subject !== 'image' && place && { place }),
      ...(subject === 'shape' && { shape }),
    };
    try {
      await send(json);
    } catch (error) {
      const isUnsavedShape = subject === 'shape' && error instanceof ApiError && error.status === 404;
      throw isUnsavedShape ? new Error(texts.unsavedShape) : error;
    }
  }
}
