import type { Stage } from '../stage/stage-contract.js';
import type { ImageMetadata } from './image-metadata.js';
import { moveToSamePart, noOffset, currentOffset, type ComparedImage } from './image-offset.js';

/** Moves two images together: the image that the user moves leads, and the other image follows. */
export class JointMove {
  /** Relative position of the two images. */
  offset = noOffset;
  /** While this is false, moving one image changes the relative position. */
  isLocked = true;
  #sides: [ComparedImage, ComparedImage] | null = null;
  /** Whether one image is moved alone because Alt is pressed. */
  #isMovedAlone = false;
  /** 0 for the first image, 1 for the second. */
  #leaderIndex: 0 | 1 = 0;
  #isMovingFollower = false;

  constructor(private readonly first: { stage: Stage; metadata: ImageMetadata }) {
    first.stage.onMove(() => this.syncAfterMove(0));
  }

  /** Joins another image to the first image until `leaveSignal` aborts. */
  join(other: { stage: Stage; metadata: ImageMetadata }, leaveSignal: AbortSignal): [ComparedImage, ComparedImage] {
    const isScaled = this.first.metadata.mm_x !== null && other.metadata.mm_x !== null;
    const makeSide = ({
      stage,
      metadata: { mm_x: mmX, sizeX, sizeY },
    }: {
      stage: Stage;
      metadata: ImageMetadata;
    }): ComparedImage => {
      const unit = isScaled ? (mmX ?? 1) * 1000 : 1;
      return { stage, unit, center: { x: (sizeX * unit) / 2, y: (sizeY * unit) / 2 } };
    };
    this.#leaderIndex = 0;
    this.#listen(this.first.stage.canvas, 0, leaveSignal);
    this.#listen(other.stage.canvas, 1, leaveSignal);
    other.stage.onMove(() => this.syncAfterMove(1));
    const sides: [ComparedImage, ComparedImage] = [makeSide(this.first), makeSide(other)];
    leaveSignal.addEventListener('abort', () => {
      if (this.#sides === sides) this.#sides = null;
    });
    this.#sides = sides;
    return sides;
  }

  /** Must be called when an image has moved. If the image leads, moves the other image too; if the image is moved alone, updates the relative position instead. */
  syncAfterMove(movedIndex: 0 | 1) {
    if (this.#sides === null || movedIndex !== this.#leaderIndex || this.#isMovingFollower) return;
    const [firstSide, secondSide] = this.#sides;
    if (!this.isLocked || this.#isMovedAlone) {
      this.offset = currentOffset(firstSide, secondSide);
      return;
    }
    this.#isMovingFollower = true;
    if (movedIndex === 0) moveToSamePart(firstSide, secondSide, this.offset, false);
    else moveToSamePart(secondSide, firstSide, this.offset, true);
    this.#isMovingFollower = false;
  }

  /** Lets an image lead when the user starts to move it. While Alt is pressed, the image is moved alone. */
  #listen(canvas: HTMLElement, index: 0 | 1, leaveSignal: AbortSignal) {
    const pane = canvas.closest('.stage') as HTMLElement;
    const takeLead = ({ altKey }: MouseEvent | KeyboardEvent) => {
      this.#leaderIndex = index;
      this.#isMovedAlone = altKey;
    };
    for (const name of ['pointerdown', 'wheel', 'keydown'] as const)
      pane.addEventListener(name, takeLead, { capture: true, passive: true, signal: leaveSignal });
  }
}
