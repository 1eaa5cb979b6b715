import type { Stage } from '../stage/contract.js';
import type { ImageMetadata } from './metadata.js';
import { moveWith, noOffset, currentOffset, type Side } from './offset.js';

/** Moves two images together: the other image follows the one that the user moves. */
export class JointMove {
  /** Relative position of the two images. */
  offset = noOffset;
  /** While this is false, moving one image changes the relative position. */
  isLocked = true;
  #sides: [Side, Side] | null = null;
  /** Whether one image is moved alone because Alt is pressed. */
  #isAlone = false;
  #leader: 0 | 1 = 0;
  #isFollowing = false;

  constructor(private readonly first: { stage: Stage; metadata: ImageMetadata }) {
    first.stage.onMove(() => this.follow(0));
  }

  /** Joins another image to the first one, until `leave` is aborted. */
  join(other: { stage: Stage; metadata: ImageMetadata }, leave: AbortSignal): [Side, Side] {
    const isScaled = this.first.metadata.mm_x !== null && other.metadata.mm_x !== null;
    const side = ({ stage, metadata: { mm_x: mmX, sizeX, sizeY } }: { stage: Stage; metadata: ImageMetadata }): Side => {
      const unit = isScaled ? (mmX ?? 1) * 1000 : 1;
      return { stage, unit, center: { x: (sizeX * unit) / 2, y: (sizeY * unit) / 2 } };
    };
    this.#leader = 0;
    this.#listen(this.first.stage.canvas, 0, leave);
    this.#listen(other.stage.canvas, 1, leave);
    other.stage.onMove(() => this.follow(1));
    const sides: [Side, Side] = [side(this.first), side(other)];
    leave.addEventListener('abort', () => {
      if (this.#sides === sides) this.#sides = null;
    });
    this.#sides = sides;
    return sides;
  }

  /** Moves the other image with the leading one. If one image is moved alone, updates their relative position instead. */
  follow(moved: 0 | 1) {
    if (this.#sides === null || moved !== this.#leader || this.#isFollowing) return;
    const [firstSide, secondSide] = this.#sides;
    if (!this.isLocked || this.#isAlone) {
      this.offset = currentOffset(firstSide, secondSide);
      return;
    }
    this.#isFollowing = true;
    if (moved === 0) moveWith(firstSide, secondSide, this.offset, false);
    else moveWith(secondSide, firstSide, this.offset, true);
    this.#isFollowing = false;
  }

  /** Makes the image that the user moves the leading one. With Alt, it is moved alone. */
  #listen(canvas: HTMLElement, index: 0 | 1, leave: AbortSignal) {
    const pane = canvas.closest('.stage') as HTMLElement;
    const lead = ({ altKey }: MouseEvent | KeyboardEvent) => {
      this.#leader = index;
      this.#isAlone = altKey;
    };
    for (const name of ['pointerdown', 'wheel', 'keydown'] as const)
      pane.addEventListener(name, lead, { capture: true, passive: true, signal: leave });
  }
}
