import { h, icon } from '../dom.js';
import { commentTexts as texts } from '../comment-texts.js';
import { formatCount } from '../format.js';
import type { Stage } from '../stage/stage-contract.js';
import type { CommentMark, CommentPlace } from './comment-requests.js';

/** Maximum number of marks on the image. More marks would cover the image. */
const maxMarks = 200;

/** Marks on the image at the places of comments: buttons that follow the view. */
export class CommentMarks {
  readonly element = h('div.comment-marks', { role: 'toolbar', 'aria-label': texts.comments });
  readonly #buttonsById: Map<string, HTMLButtonElement> = new Map();
  #marks: readonly CommentMark[] = [];
  #newPlace: CommentPlace | null = null;
  #openId: string | null = null;
  readonly #newMark = h('span.comment-mark.new', { role: 'img', 'aria-label': texts.markOfNewComment }, icon('comment'));

  constructor(
    private readonly options: {
      stage: Stage;
      /** the shown frame; `null` if the image has only one frame */
      currentFrame: () => number | null;
      onOpen: (id: string) => void;
      /** the name of a mark, if its comment is known */
      nameOf: (id: string) => string | null;
      /** called with the number of shown marks, and the number of all marks in the view */
      onCount: (shownCount: number, totalCount: number) => void;
    },
  ) {
    this.element.addEventListener('keydown', (event) => this.#onKeyDown(event));
  }

  /** Moves the marks with the view from now on. */
  followView() {
    this.options.stage.onMove(() => this.#placeMarks());
    this.options.stage.onRest(() => this.#placeMarks());
  }

  /** Must be called when another frame is shown. */
  refresh() {
    this.#placeMarks();
  }

  show(marks: readonly CommentMark[]) {
    this.#marks = marks;
    this.#placeMarks();
  }

  /** Shows a mark at the place of a new comment; `null` removes this mark. */
  showNew(place: CommentPlace | null) {
    this.#newPlace = place;
    this.#placeMarks();
  }

  /** Highlights the mark of the comment that is open in the panel. */
  highlight(id: string | null) {
    this.#openId = id;
    this.#placeMarks();
  }

  #placeMarks() {
    const { stage, onCount } = this.options;
    const placement = stage.placement();
    const { width, height } = stage.size();
    const visiblePointOf = ({ x, y }: CommentPlace) => {
      const point = placement.transformPoint({ x, y });
      return point.x >= 0 && point.y >= 0 && point.x <= width && point.y <= height ? point : null;
    };
    const shownIds = new Set<string>();
    let visibleCount = 0;
    for (const mark of this.#marks) {
      const point = visiblePointOf(mark.place);
      if (point === null) continue;
      visibleCount += 1;
      if (shownIds.size >= maxMarks && mark._id !== this.#openId) continue;
      shownIds.add(mark._id);
      moveTo(this.#updateButton(mark), point);
    }
    for (const [id, button] of this.#buttonsById) {
      if (shownIds.has(id)) continue;
      button.remove();
      this.#buttonsById.delete(id);
    }
    // The Tab key goes to one mark, and the arrow keys go to the other marks.
    const buttons = [...this.#buttonsById.values()];
    const focusedButton = buttons.find((button) => button.matches(':focus'));
    const tabStop = focusedButton ?? this.#buttonsById.get(this.#openId ?? '') ?? buttons[0];
    for (const button of buttons) button.tabIndex = button === tabStop ? 0 : -1;
    const newPoint = this.#newPlace && visiblePointOf(this.#newPlace);
    if (newPoint) {
      moveTo(this.#newMark, newPoint);
      this.element.append(this.#newMark);
    } else this.#newMark.remove();
    onCount(shownIds.size, visibleCount);
  }

  #onKeyDown(event: KeyboardEvent) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] ?? 0;
    const buttons = [...this.#buttonsById.values()];
    const nextButton = buttons[buttons.indexOf(event.target as HTMLButtonElement) + step];
    if (step === 0 || !nextButton) return;
    event.preventDefault();
    for (const button of buttons) button.tabIndex = button === nextButton ? 0 : -1;
    nextButton.focus();
  }

  #updateButton(mark: CommentMark) {
    const { _id: id, place, state } = mark;
    let control = this.#buttonsById.get(id);
    if (control === undefined) {
      control = h('button.comment-mark', { onclick: () => this.options.onOpen(id) }, icon('comment'));
      this.#buttonsById.set(id, control);
      this.element.append(control);
    }
    const name = this.options.nameOf(id) ?? texts.markAt(formatCount(Math.round(place.x)), formatCount(Math.round(place.y)));
    if (control.title !== name) {
      control.title = name;
      control.ariaLabel = name;
    }
    control.classList.toggle('resolved', state === 'resolved');
    control.ariaCurrent = id === this.#openId ? 'true' : null;
    const shownFrame = this.options.currentFrame();
    control.classList.toggle('elsewhere', shownFrame !== null && place.frame !== undefined && place.frame !== shownFrame);
    return control;
  }
}

function moveTo(element: HTMLElement, { x, y }: { x: number; y: number }) {
  element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
}
