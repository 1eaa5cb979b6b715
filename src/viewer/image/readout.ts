import { request } from '../api.js';
import type { Documents } from '../answers.js';
import { h, messageOf } from '../dom.js';
import { formatCount, formatLength } from '../format.js';
import type { ImageMetadata } from './image-metadata.js';
import { projectionQuery, type Projection } from './projection.js';
import type { Stage } from '../stage/stage-contract.js';
import { imageTexts } from '../texts.js';

type Pixel = Documents['Pixel'];

/** Time in milliseconds that the pointer must rest before its pixel is requested. */
const restMs = 120;

/** Maximum number of channels whose samples are shown. More samples would cover the image. */
const maxSamples = 8;

/** Shows the position and value of the pixel under the pointer, or of the pixel in the center while the keyboard moves the image. */
export function pixelReadout(options: {
  stage: Stage;
  /** the element that the pointer moves over */
  element: HTMLElement;
  itemId: string;
  metadata: ImageMetadata;
  currentFrame: () => number;
  /** where the samples of each visible channel are, if the image has several channels; bands are counted from 1 */
  sampleSources: () => { name: string; frame: number; band: number }[];
  currentProjection: () => Projection | null;
  signal: AbortSignal;
}) {
  const { stage, element, itemId, metadata, currentFrame, sampleSources, currentProjection, signal } = options;
  const position = h('span', { 'data-testid': 'position' });
  const swatch = h('span.swatch', { 'aria-hidden': 'true' });
  const valueText = h('span.readout-value', { 'data-testid': 'pixel' });
  const attributes = { 'aria-label': imageTexts.pixel, hidden: true };
  const output = h('output.readout.surface.raised.row.numbers.small.wrap', attributes, position, swatch, valueText);
  /** in pixels of the stage */
  let pointerPosition: { x: number; y: number } | null = null;
  let requestController: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  element.addEventListener('pointermove', (event) => followPointer(event));
  element.addEventListener('pointerdown', (event) => followPointer(event));
  element.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse') hide();
  });
  stage.onMove(() => pointerPosition && showPixelAt(pointerPosition));
  stage.onRest(() => {
    if (stage.canvas.matches(':focus-visible')) {
      const { width, height } = element.getBoundingClientRect();
      showPixelAt({ x: width / 2, y: height / 2 });
    }
  });
  signal.addEventListener('abort', hide, { once: true });
  return { element: output, refresh: () => pointerPosition && showPixelAt(pointerPosition) };

  function followPointer(event: PointerEvent) {
    const box = element.getBoundingClientRect();
    showPixelAt({ x: event.clientX - box.left, y: event.clientY - box.top });
  }

  function hide() {
    pointerPosition = null;
    clearTimeout(timer);
    requestController?.abort();
    output.hidden = true;
  }

  /** @param pointer in pixels of the stage */
  function showPixelAt(pointer: { x: number; y: number }) {
    pointerPosition = pointer;
    clearTimeout(timer);
    requestController?.abort();
    const point = stage.toImage(pointer.x, pointer.y);
    const x = Math.floor(point.x);
    const y = Math.floor(point.y);
    const isInside = x >= 0 && y >= 0 && x < metadata.sizeX && y < metadata.sizeY;
    output.hidden = !isInside;
    if (!isInside) return;
    position.textContent = positionText(x, y, metadata);
    timer = setTimeout(() => void requestPixel(x, y), restMs);
  }

  async function requestPixel(left: number, top: number) {
    const controller = new AbortController();
    requestController = controller;
    try {
      const shownChannels = sampleSources().slice(0, maxSamples);
      const frames = [...new Set(shownChannels.map((channel) => channel.frame))];
      const query = {
        left,
        top,
        frame: (metadata.frames?.length ?? 1) > 1 ? currentFrame() : null,
        frameList: frames.length > 1 ? frames.join(',') : null,
        ...projectionQuery(currentProjection()),
      };
      const answer = await request('GET', `item/${itemId}/tiles/pixel`, { query, signal: controller.signal });
      // The response is a list only for requests of several frames.
      const pixels = [answer].flat();
      const sampleTexts = shownChannels.map((channel) => {
        const sample = pixels[frames.indexOf(channel.frame)]?.value?.[channel.band - 1];
        return `${channel.name}\u00a0${sample ?? '–'}`;
      });
      valueText.textContent = sampleTexts.length > 0 ? sampleTexts.join('  ') : pixelText(pixels[0] ?? {});
      // The samples of several frames are not shown as a color.
      swatch.hidden = frames.length > 1;
      swatch.style.backgroundColor = pixelColor(pixels[0] ?? {});
      output.dataset.pixel = `${left},${top}`;
    } catch (error) {
      if (!controller.signal.aborted) valueText.textContent = messageOf(error);
    }
  }
}

function positionText(x: number, y: number, { mm_x: mmX, mm_y: mmY }: ImageMetadata) {
  const pixels = `${formatCount(x)}, ${formatCount(y)} px`;
  return mmX === null || mmY === null ? pixels : `${pixels} · ${formatLength(x * mmX)}, ${formatLength(y * mmY)}`;
}

/** The samples of the file as text, with names if they are colors. */
function pixelText({ value = [], ...channels }: Pixel) {
  const colors = (['r', 'g', 'b', 'a'] as const).filter((name) => channels[name] !== undefined);
  const samples = value.length > 0 ? value : colors.map((name) => channels[name]);
  if (colors.length >= 3 && samples.length === colors.length) {
    return samples.map((sample, index) => `${colors[index]?.toUpperCase()} ${sample}`).join('  ');
  }
  return samples.join('  ');
}

function pixelColor({ r, g, b, l }: Pixel) {
  if (r !== undefined) return `rgb(${r} ${g} ${b})`;
  return l === undefined ? 'transparent' : `rgb(${l} ${l} ${l})`;
}
