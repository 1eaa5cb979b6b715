import { list, request } from '../api.js';
import { imageState, type Item } from '../browse/model.js';
import { announce, button, errorNotice, fill, h, icon, messageOf, wideButton } from '../dom.js';
import { field } from '../forms.js';
import { plainDialog } from '../help.js';
import { parseRoute } from '../router.js';
import { commonTexts, compareTexts } from '../texts.js';
import { section } from './facts.js';
import { openImage, type ImageView } from './image-view.js';
import { imagePanels } from './panels.js';
import type { ImageMetadata } from './metadata.js';
import type { Stage } from '../stage/contract.js';

/** Position of the second image relative to the first: moved (in micrometres if both have a scale, otherwise in pixels), scaled, and turned by degrees. */
type Offset = { x: number; y: number; scale: number; turn: number };
type Side = { stage: Stage; /** micrometres per pixel, or 1 */ unit: number };
type Seen = { x: number; y: number; width: number; rotation: number };

const noOffset: Offset = { x: 0, y: 0, scale: 1, turn: 0 };

/** Number of images that are offered at once. */
const offered = 100;

/** The point of the second image at a point of the first one, each in the units of its image. */
function across({ x, y, scale, turn }: Offset, point: { x: number; y: number }) {
  return new DOMMatrix().translate(x, y).rotate(-turn).scale(scale).transformPoint(point);
}

/** The initial offset: none if the second image extends to the view of the first, otherwise the one that puts its centre there. */
function meeting([one, { unit }]: [Side, Side], { sizeX, sizeY }: ImageMetadata): Offset {
  const { x, y } = seenBy(one);
  const isThere = x >= 0 && y >= 0 && x <= sizeX * unit && y <= sizeY * unit;
  return isThere ? noOffset : { ...noOffset, x: (sizeX * unit) / 2 - x, y: (sizeY * unit) / 2 - y };
}

function seenBy({ stage, unit }: Side): Seen {
  const { x, y, width } = stage.place();
  return { x: x * unit, y: y * unit, width: width * unit, rotation: stage.turned() };
}

/** Shows a second image beside an open one. Both move together; while the lock is off, their relative position is changed. */
export function comparison(options: {
  first: { image: ImageView; item: Item; metadata: ImageMetadata };
  /** element that contains the first image, and will contain both */
  stages: HTMLElement;
  panel: HTMLElement;
  /** called when the address must change */
  onChange: () => void;
  signal: AbortSignal;
}) {
  const { first, stages, panel, onChange, signal } = options;
  let second: { id: string; sides: [Side, Side]; end: AbortController } | null = null;
  let opening = '';
  let offset = noOffset;
  let isLocked = true;
  /** Whether one image is moved alone because Alt is pressed. */
  let isAlone = false;
  let leads: 0 | 1 = 0;
  let isFollowing = false;
  const compare = wideButton('compare', compareTexts.compare, () => (second ? close() : choose()));
  const lock = button('', toggleLock, { picture: 'lock', name: compareTexts.lock, isPressed: true });
  first.image.stage.onMove(() => follow(0));
  first.image.stage.onRest(settle);
  return { button: compare, update, query };

  /** The part of the address for the second image. */
  function query(): Record<string, string | null> {
    if (!second) return opening === '' ? {} : { with: opening };
    const { x, y, scale, turn } = offset;
    const isNone = x === 0 && y === 0 && scale === 1 && turn === 0;
    const digits = (value: number, count: number) => Number(value.toFixed(count));
    return { with: second.id, offset: isNone ? null : [digits(x, 1), digits(y, 1), digits(scale, 5), digits(turn, 2)].join(',') };
  }

  function update(from: URLSearchParams) {
    const [x = NaN, y = NaN, scale = NaN, turn = NaN] = (from.get('offset') ?? '').split(',').map(Number);
    const isOffset = [x, y, turn].every((part) => Math.abs(part) < 1e9) && scale > 1e-4 && scale < 1e4;
    offset = isOffset ? { x, y, scale, turn } : noOffset;
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
      const [item, metadata] = await Promise.all([
        request<Item>('GET', `item/${encodeURIComponent(id)}`, { signal: leave }),
        request<ImageMetadata>('GET', `item/${encodeURIComponent(id)}/tiles`, { signal: leave }),
      ]);
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
      stage.append(h('p.stage-name.clip', item.name));
      stage.querySelector('.stage-buttons')?.prepend(lock);
      fill(facts, section(item.name, { open: false }, ...imagePanels(image, metadata, ['frames', 'look', 'annotations'])));
      const isScaled = first.metadata.mm_x !== null && metadata.mm_x !== null;
      const side = (of: Stage, { mm_x: mmX }: ImageMetadata): Side => ({ stage: of, unit: isScaled ? (mmX ?? 1) * 1000 : 1 });
      second = { id, sides: [side(first.image.stage, first.metadata), side(image.stage, metadata)], end };
      compare.setAttribute('aria-pressed', 'true');
      if (isChosen) offset = meeting(second.sides, metadata);
      leads = 0;
      for (const [index, { stage: of }] of second.sides.entries()) listen(of.canvas, index as 0 | 1, leave);
      image.stage.onMove(() => follow(1));
      follow(0);
      onChange();
      announce(compareTexts.opened(item.name));
    } catch (error) {
      if (leave.aborted) return;
      fill(stage, errorNotice(error));
      stage.append(h('button.button', { onclick: close }, commonTexts.close));
    }
  }

  /** Makes the image that the user touches the leading one; with Alt it is moved alone. */
  function listen(canvas: HTMLElement, index: 0 | 1, leave: AbortSignal) {
    const pane = canvas.closest('.stage') as HTMLElement;
    for (const name of ['pointerdown', 'wheel', 'keydown'] as const) {
      const lead = ({ altKey }: MouseEvent | KeyboardEvent) => {
        leads = index;
        isAlone = altKey;
      };
      pane.addEventListener(name, lead, { capture: true, passive: true, signal: leave });
    }
  }

  function toggleLock() {
    isLocked = !isLocked;
    lock.setAttribute('aria-pressed', String(isLocked));
    announce(isLocked ? compareTexts.locked : compareTexts.unlocked);
  }

  /** Moves the other image with the leading one. */
  function follow(moved: 0 | 1) {
    if (!second || moved !== leads || isFollowing) return;
    if (!isLocked || isAlone) return learn();
    const [from, to] = [second.sides[moved], second.sides[moved === 0 ? 1 : 0]];
    const seen = seenBy(from);
    const isFirst = moved === 0;
    const inverse = new DOMMatrix().translate(offset.x, offset.y).rotate(-offset.turn).scale(offset.scale).inverse();
    const { x, y } = isFirst ? across(offset, seen) : inverse.transformPoint(seen);
    const factor = (isFirst ? offset.scale : 1 / offset.scale) * (to.stage.size().width / from.stage.size().width);
    isFollowing = true;
    to.stage.rotate(seen.rotation + (isFirst ? offset.turn : -offset.turn), true);
    to.stage.goTo({ x: x / to.unit, y: y / to.unit, width: (seen.width * factor) / to.unit });
    isFollowing = false;
  }

  /** Computes the relative position from the present views. */
  function learn() {
    if (!second) return;
    const [one, other] = second.sides.map(seenBy) as [Seen, Seen];
    const [narrow, wide] = second.sides.map(({ stage }) => stage.size().width) as [number, number];
    const turn = other.rotation - one.rotation;
    const scale = other.width / wide / (one.width / narrow);
    const placed = across({ x: 0, y: 0, scale, turn }, one);
    offset = { x: other.x - placed.x, y: other.y - placed.y, scale, turn };
  }

  function settle() {
    if (second) onChange();
  }

  /** A dialog that offers the images of the same folder, and accepts a link to any image. */
  function choose() {
    const found = h('ul.picker-list', { 'aria-label': compareTexts.images });
    const link = h('input', { type: 'search', autocomplete: 'off', oninput: () => void search() });
    const dialog = plainDialog(compareTexts.compare, field(compareTexts.find, link), h('div.picker.column', found));
    let asked = 0;
    void search();

    async function search() {
      asked += 1;
      const turn = asked;
      const text = link.value.trim();
      const linked = text.includes('#item/') ? parseRoute(text.slice(text.indexOf('#'))).id : '';
      try {
        const entries =
          linked === ''
            ? (
                await list<Item>('item', {
                  query: { ...(text === '' ? { folderId: first.item.folderId } : { text }), limit: offered },
                  signal,
                })
              ).entries
            : [await request<Item>('GET', `item/${encodeURIComponent(linked)}`, { signal })];
        if (turn !== asked) return;
        const images = entries.filter((item) => item._id !== first.item._id && imageState(item) === 'yes');
        const rows = images.map((item) => h('li', pick(item)));
        fill(found, ...rows, rows.length === 0 && h('li.quiet-text', compareTexts.nothing));
      } catch (error) {
        if (turn === asked && !signal.aborted) fill(found, h('li.form-error', messageOf(error)));
      }
    }

    function pick({ _id: id, name }: Item) {
      const take = () => {
        dialog.close();
        void open(id, true);
      };
      return h('button.pick.row', { onclick: take }, icon('image'), name);
    }
  }
}
