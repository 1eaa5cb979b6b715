import type { ImageItem } from '../browse/browse-model.js';
import { announce, button, errorNotice, fill, h, nameText, responsiveButton } from '../dom.js';
import { commonTexts, compareTexts } from '../texts.js';
import { chooseImage } from './choose-image.js';
import { section } from './facts.js';
import { openImage, requestImage, type ImageView } from './image-view.js';
import { JointMove } from './joint-move.js';
import { centeredOffset, isViewOnSecond, readOffset, writeOffset } from './image-offset.js';
import { imagePanels } from './panels.js';
import type { ImageMetadata } from './image-metadata.js';

/** Makes a button that shows a second image next to an open image. The two images move together, unless the user unlocks them to change their relative position. */
export function offerComparison(options: {
  first: { image: ImageView; item: ImageItem; metadata: ImageMetadata };
  /** element that contains the first image, and later also the second */
  stagesElement: HTMLElement;
  panel: HTMLElement;
  /** called when the parameters in the address must be written again */
  onChange: () => void;
  signal: AbortSignal;
}) {
  const { first, stagesElement, panel, onChange, signal } = options;
  const jointMove = new JointMove({ stage: first.image.stage, metadata: first.metadata });
  let second: { id: string; image: ImageView } | null = null;
  /** id of the second image, also while it is being opened; `''` without a second image */
  let secondId = '';
  /** aborts when the second image is closed or replaced, also while it is being opened */
  let secondController = new AbortController();
  const chooseSecond = () => chooseImage(first.item, { signal, onChosen: (id) => void openSecond(id, true) });
  const compareButton = responsiveButton('compare', compareTexts.compare, () => (second ? closeSecond() : chooseSecond()));
  const lockButton = button('', toggleLock, { icon: 'lock', name: compareTexts.lock, isPressed: true });
  first.image.stage.onRest(onViewChange);
  first.image.setComparedFigureGetter(() => second?.image.figure ?? null);
  return { button: compareButton, update, addressParameters, getSecondImage: () => second?.image ?? null };

  /** The parameters of the second image in the address. */
  function addressParameters(): Record<string, string | null> {
    if (second) return { with: second.id, offset: writeOffset(jointMove.offset) };
    return secondId === '' ? {} : { with: secondId };
  }

  function update(addressQuery: URLSearchParams) {
    jointMove.offset = readOffset(addressQuery.get('offset'));
    const id = addressQuery.get('with') ?? '';
    if (id === secondId) jointMove.syncAfterMove(0);
    else if (id === '') closeSecond();
    else void openSecond(id);
  }

  function closeSecond() {
    secondController.abort();
    second = null;
    secondId = '';
    compareButton.setAttribute('aria-pressed', 'false');
    onChange();
  }

  /** Opens the second image. @param isChosen whether the user has just selected it, in which case the image has no relative position yet */
  async function openSecond(id: string, isChosen = false) {
    secondController.abort();
    secondController = new AbortController();
    second = null;
    secondId = id;
    const stageElement = h('section.stage.grow', { 'aria-label': compareTexts.second });
    const secondPanels = h('div');
    const leaveSignal = AbortSignal.any([signal, secondController.signal]);
    leaveSignal.addEventListener('abort', () => [stageElement, secondPanels].forEach((part) => part.remove()));
    stagesElement.append(stageElement);
    panel.prepend(secondPanels);
    try {
      const { item, metadata } = await requestImage(id, leaveSignal);
      const image = await openImage({
        element: stageElement,
        item,
        metadata,
        query: new URLSearchParams(),
        onAddress: onViewChange,
        onRetry: () => void openSecond(id),
        signal: leaveSignal,
      });
      leaveSignal.throwIfAborted();
      stageElement.append(h('p.stage-name.break', { title: item.name }, nameText(item.name)));
      stageElement.querySelector('.stage-buttons')?.prepend(lockButton);
      fill(secondPanels, section(item.name, false, ...imagePanels(image, metadata, ['frames', 'look', 'annotations'])));
      compareButton.setAttribute('aria-pressed', 'true');
      second = { id, image };
      const sides = jointMove.join({ stage: image.stage, metadata }, leaveSignal);
      if (isChosen) {
        jointMove.offset = centeredOffset(...sides);
        // If the current view is outside the second image, nothing of that image would be visible.
        if (!isViewOnSecond(...sides, jointMove.offset)) first.image.stage.goHome(true);
      }
      jointMove.syncAfterMove(0);
      onChange();
      announce(compareTexts.opened(item.name));
    } catch (error) {
      if (leaveSignal.aborted) return;
      fill(stageElement, errorNotice(error));
      stageElement.append(button(commonTexts.close, closeSecond));
    }
  }

  function toggleLock() {
    jointMove.isLocked = !jointMove.isLocked;
    lockButton.setAttribute('aria-pressed', String(jointMove.isLocked));
    announce(jointMove.isLocked ? compareTexts.locked : compareTexts.unlocked);
  }

  function onViewChange() {
    if (second) onChange();
  }
}
