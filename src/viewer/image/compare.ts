import type { ImageItem } from '../browse/model.js';
import { announce, button, errorNotice, fill, h, nameText, wideButton } from '../dom.js';
import { commonTexts, compareTexts } from '../texts.js';
import { chooseImage } from './choose-image.js';
import { section } from './facts.js';
import { openImage, requestImage, type ImageView } from './image-view.js';
import { JointMove } from './joint-move.js';
import { centeredOffset, isInView, readOffset, writeOffset } from './offset.js';
import { imagePanels } from './panels.js';
import type { ImageMetadata } from './metadata.js';

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
  const move = new JointMove({ stage: first.image.stage, metadata: first.metadata });
  let second: { id: string; image: ImageView; end: AbortController } | null = null;
  let opening = '';
  const choose = () => chooseImage(first.item, { signal, onChosen: (id) => void open(id, true) });
  const compare = wideButton('compare', compareTexts.compare, () => (second ? close() : choose()));
  const lock = button('', toggleLock, { picture: 'lock', name: compareTexts.lock, isPressed: true });
  first.image.stage.onRest(settle);
  first.image.compareWith(() => second?.image.figure ?? null);
  return { button: compare, update, query, second: () => second?.image ?? null };

  /** The part of the address for the second image. */
  function query(): Record<string, string | null> {
    if (second) return { with: second.id, offset: writeOffset(move.offset) };
    return opening === '' ? {} : { with: opening };
  }

  function update(from: URLSearchParams) {
    move.offset = readOffset(from.get('offset'));
    const id = from.get('with') ?? '';
    if (id === (second?.id ?? '')) move.follow(0);
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

  /** Opens the second image. @param isChosen whether the user has just selected it, so that it has no relative position yet */
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
      second = { id, image, end };
      const sides = move.join({ stage: image.stage, metadata }, leave);
      if (isChosen) {
        move.offset = centeredOffset(...sides);
        // A view of the first image that is outside the second one would show nothing of it.
        if (!isInView(...sides, move.offset)) first.image.stage.goHome(true);
      }
      move.follow(0);
      onChange();
      announce(compareTexts.opened(item.name));
    } catch (error) {
      if (leave.aborted) return;
      fill(stage, errorNotice(error));
      stage.append(button(commonTexts.close, () => (end.abort(), close())));
    }
  }

  function toggleLock() {
    move.isLocked = !move.isLocked;
    lock.setAttribute('aria-pressed', String(move.isLocked));
    announce(move.isLocked ? compareTexts.locked : compareTexts.unlocked);
  }

  function settle() {
    if (second) onChange();
  }
}
