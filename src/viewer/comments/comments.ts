import { isOpenedByLink, readToken } from '../api.js';
import { mayAnnotate } from '../annotations/annotation-requests.js';
import type { ImageItem } from '../browse/browse-model.js';
import type { Stage } from '../stage/stage-contract.js';
import { personName } from './comment-parts.js';
import { CommentsPanel } from './comments-panel.js';
import { CommentMarks } from './comment-marks.js';
import type { CommentPlace, CommentTarget } from './comment-requests.js';
import { commentTexts as texts } from '../comment-texts.js';
import { shorten } from '../format.js';

/** Maximum length of the text in the name of a mark, in characters. */
const maxNameLength = 120;
/** When a comment is opened, the view becomes at most this wide: image pixels or share of the image's width, whichever is more. */
const maxViewWidth = { pixels: 1000, share: 0.1 };

/** The comments on an image, as marks on the stage and in a section; `null` on a page that was opened through a link. */
export function imageComments(options: {
  item: ImageItem;
  stage: Stage;
  /** element in which the image is drawn */
  drawingElement: HTMLElement;
  /** width of the image in pixels */
  width: number;
  /** the comment to open first, from the address */
  openId: string | null;
  /** whether the address has a position */
  hasPosition: boolean;
  mayManage: boolean;
  /** the shown frame; `null` if the image has only one frame */
  currentFrame: () => number | null;
  showFrame: (frame: number) => void;
  shapeAt: (point: { x: number; y: number }) => CommentTarget['shape'];
  selectedShape: () => CommentTarget['shape'];
  /** called when a thread is opened or closed */
  onOpenChange: () => void;
  signal: AbortSignal;
}) {
  if (isOpenedByLink()) return null;
  const { item, stage, drawingElement, width, openId, hasPosition, mayManage, currentFrame, showFrame, signal } = options;
  const marks = new CommentMarks({
    stage,
    currentFrame,
    onOpen: (id) => void panel.openThreadOf(id),
    nameOf(id) {
      const thread = panel.findThread(id);
      return thread && texts.markOf(personName(thread.author), shorten(thread.text, maxNameLength));
    },
    onCount: (shownCount, totalCount) => panel.showMarkCounts(shownCount, totalCount),
  });
  const toCommentPlace = (place: { x: number; y: number }): CommentPlace => {
    const shownFrame = currentFrame();
    const round = (value: number) => Math.round(value * 10) / 10;
    return { x: round(place.x), y: round(place.y), ...(shownFrame !== null && { frame: shownFrame }) };
  };
  const panel: CommentsPanel = new CommentsPanel({
    item,
    targets: {
      targetAt: (stagePoint) => ({
        place: toCommentPlace(stage.toImage(stagePoint.x, stagePoint.y)),
        shape: options.shapeAt(stagePoint),
      }),
      viewCenter: () => toCommentPlace(stage.animatedPosition()),
      selectedShape: options.selectedShape,
      markPlace: (place) => marks.showNew(place),
    },
    writePermission: readToken() === null ? Promise.resolve(false) : mayAnnotate(item.folderId, signal).catch(() => false),
    mayManage,
    onMarks: (commentMarks) => marks.show(commentMarks),
    onShowMarks: (areShown) => (marks.element.hidden = !areShown),
    onOpenChange(id) {
      marks.highlight(id);
      options.onOpenChange();
    },
    goTo: ({ place }) => place && goTo(place),
    signal,
  });
  const declinePress = () => false;
  const doNothing = () => {};
  const click = (stagePoint: { x: number; y: number }) => panel.onStageClick(stagePoint);
  stage.onPointer({
    press: declinePress,
    drag: doNothing,
    release: doNothing,
    cancel: doNothing,
    click,
    doubleClick: declinePress,
  });
  let isFirstMove = true;
  return {
    /** Shows the marks, and loads the comments. @returns the section of the comments */
    show() {
      drawingElement.append(marks.element);
      marks.followView();
      void panel.start(openId);
      return panel.element;
    },
    /** The id of the open thread. */
    openId: () => panel.openId,
    /** Opens another thread, for example after the back button. */
    open: (id: string | null) => void (id !== panel.openId && panel.openThreadOf(id)),
    /** Must be called when another frame is shown. */
    refresh: () => marks.refresh(),
  };

  function goTo(place: CommentPlace) {
    // If the page was opened with a position in its address, the first comment does not move the view.
    const keepsView = isFirstMove && hasPosition;
    isFirstMove = false;
    if (!keepsView) {
      const maxWidth = Math.max(width * maxViewWidth.share, maxViewWidth.pixels);
      stage.goTo({ x: place.x, y: place.y, width: Math.min(stage.animatedPosition().width, maxWidth) });
    }
    if (place.frame !== undefined && currentFrame() !== null && place.frame !== currentFrame()) showFrame(place.frame);
  }
}
