import type { ImageItem } from '../browse/model.js';
import { announce, button, errorNotice, fill, h, nameText, wideButton } from '../dom.js';
import { commonTexts, compareTexts } from '../texts.js';
import { chooseImage } from './choose-image.js';
import { section } from './facts.js';
import { openImage, requestImage, type ImageView } from './image-view.js';
import { centeredOffset, isInView, moveWith, noOffset, presentOffset, readOffset, writeOffset, type Side } from './offset.js';
import { imagePanels } from './panels.js';
import type { ImageMetadata } from './metadata.js';
import type { Stage } from '../stage/contract.js';

/** Shows a second image next to an open one. Both move together; while the lock is off, their relative position can be changed. */
export function comparison(options: {
  first: { image: ImageView; item: ImageItem; metadata: ImageMetadata };
  /** element that contains the first image, and will contain both */
  stages: HTMLElement;
  panel: HTMLElement;
  /** called when the address must change */
  onChange: () => void;
  signal: AbortSignal;
}) {
  const { first, stages, panel, onChange, signal } = options;
  let second: { id: string; image: ImageView; sides: [Side, Side]; end: AbortController } | null = null;
  let opening = '';
  let offset = noOffset;
  let isLocked = true;
  /** Whether one image is moved alone because Alt is pressed. */
  let isAlone = false;
  let leads: 0 | 1 = 0;
  let isFollowing = false;
  const choose = () => chooseImage(first.item, { signal, onChosen: (id) => void open(id, true) });
  const compare = wideButton('compare', compareTexts.compare, () => (second ? close() : choose()));
  const lock = button('', toggleLock, { picture: 'lock', name: compareTexts.lock, isPressed: true });
  first.image.stage.onMove(() => follow(0));
  first.image.stage.onRest(settle);
  first.image.showBeside(() => second?.image.figure ?? null);
  return { button: compare, update, query, second: () => second?.image ?? null };

  /** The part of the address for the second image. */
  function query(): Record<string, string | null> {
    if (second) return { with: second.id, offset: writeOffset(offset) };
    return opening === '' ? {} : { with: opening };
  }

  function update(from: URLSearchParams) {
    offset = readOffset(from.get('offset'));
    const id = from.get('with') ?? '';
    if (id === (second?.id ?? '')) follow(0);
    else if (id === '') close();
    else void open(id);
  }

  function close() {
    second?.end.abort();
    second = null;
    opening = '';
    compare.setAttribute('aria-pressed', 'false');
    onChange();
  }

  /** Opens the second image. @param isChosen whether the user has just selected it, so that its relative position is not known yet */
  async function open(id: string, isChosen = false) {
    second?.end.abort();
    second = null;
    opening = id;
    const end = new AbortController();
    const stage = h('section.stage.grow', { 'aria-label': compareTexts.second });
    const facts = h('div');
    const leave = AbortSignal.any([signal, end.signal]);
    leave.addEventListener('abort', () => [stage, facts].forEach((part) => part.remove()));
    stages.append(stage);
    panel.prepend(facts);
    try {
      const { item, metadata } = await requestImage(id, leave);
      const image = await openImage({
        element: stage,
        item,
        metadata,
        query: new URLSearchParams(),
        onAddress: settle,
        onRetry: () => void open(id),
        signal: leave,
      });
      leave.throwIfAborted();
      stage.append(h('p.stage-name.break', { title: item.name }, nameText(item.name)));
      stage.querySelector('.stage-buttons')?.prepend(lock);
      fill(facts, section(item.name, false, ...imagePanels(image, metadata, ['frames', 'look', 'annotations'])));
      compare.setAttribute('aria-pressed', 'true');
      const sides = join(image.stage, metadata, leave);
      second = { id, image, sides, end };
      if (isChosen) {
        offset = centeredOffset(...sides);
        // A view beside the second image would show nothing of it.
        if (!isInView(...sides, offset)) first.image.stage.goHome(true);
      }
      follow(0);
      onChange();
      announce(compareTexts.opened(item.name));
    } catch (error) {
      if (leave.aborted) return;
      fill(stage, errorNotice(error));
      stage.append(button(commonTexts.close, () => (end.abort(), close())));
    }
  }

  /** Joins both images, so that the one that the user moves takes the other one with it. */
  function join(stage: Stage, metadata: ImageMetadata, leave: AbortSignal): [Side, Side] {
    const isScaled = first.metadata.mm_x !== null && metadata.mm_x !== null;
    const side = (of: Stage, { mm_x: mmX, sizeX, sizeY }: ImageMetadata): Side => {
      const unit = isScaled ? (mmX ?? 1) * 1000 : 1;
      return { stage: of, unit, center: { x: (sizeX * unit) / 2, y: (sizeY * unit) / 2 } };
    };
    leads = 0;
    listen(first.image.stage.canvas, 0, leave);
    listen(stage.canvas, 1, leave);
    stage.onMove(() => follow(1));
    return [side(first.image.stage, first.metadata), side(stage, metadata)];
  }

  /** Makes the image that the user touches the leading one; with Alt it is moved alone. */
  function listen(canvas: HTMLElement, index: 0 | 1, leave: AbortSignal) {
    const pane = canvas.closest('.stage') as HTMLElement;
    const lead = ({ altKey }: MouseEvent | KeyboardEvent) => {
      leads = index;
      isAlone = altKey;
    };
    for (const name of ['pointerdown', 'wheel', 'keydown'] as const)
      pane.addEventListener(name, lead, { capture: true, passive: true, signal: leave });
  }

  function toggleLock() {
    isLocked = !isLocked;
    lock.setAttribute('aria-pressed', String(isLocked));
    announce(isLocked ? compareTexts.locked : compareTexts.unlocked);
  }

  /** Moves the other image with the leading one, or learns their relative position from a move of one alone. */
  function follow(moved: 0 | 1) {
    if (!second || moved !== leads || isFollowing) return;
    const [one, other] = second.sides;
    if (!isLocked || isAlone) {
      offset = presentOffset(one, other);
      return;
    }
    isFollowing = true;
    if (moved === 0) moveWith(one, other, offset, false);
    else moveWith(other, one, offset, true);
    isFollowing = false;
  }

  function settle() {
    if (second) onChange();
  }
}
