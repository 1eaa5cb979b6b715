import { button, h, type IconName } from '../dom.js';
import { formatMagnification, scaleBar } from '../format.js';
import type { ImageMetadata } from './image-metadata.js';
import type { Stage } from '../stage/stage-contract.js';
import { imageTexts } from '../texts.js';

/** Maximum width of the scale bar, in screen pixels. */
const maxBarWidth = 150;

/** Scale bar and magnification, which follow the view. */
export function scaleRow(stage: Stage, metadata: ImageMetadata) {
  const bar = h('div.scale-bar-line');
  const label = h('span.strong', { 'data-testid': 'scale-bar' });
  const magnification = h('span.magnification.strong', {
    'data-testid': 'magnification',
    title: imageTexts.magnificationOnScreen,
  });
  stage.onMove(() => {
    const zoom = stage.zoom();
    const fittingBar = scaleBar({ zoom, mmPerPixel: metadata.mm_x, maxWidth: maxBarWidth });
    bar.style.width = `${fittingBar.width}px`;
    label.textContent = fittingBar.label;
    // A magnification that was computed from the pixel size is not the magnification of an objective.
    const fileMagnification = metadata.magnificationComputed ? null : metadata.magnification;
    magnification.textContent = formatMagnification(zoom, fileMagnification);
  });
  const scale = h('div.scale-bar.column', { role: 'img', 'aria-label': imageTexts.scaleBar }, label, bar);
  return h('div.scale-row.surface.raised.row.numbers.small', scale, magnification);
}

/** The buttons on the stage. @param onSave called when the user wants to save the view */
export function stageButtons(stage: Stage, fullScreenElement: HTMLElement, onSave: () => void) {
  const zoomFactor = 1.6;
  const buttons = [
    iconButton('plus', imageTexts.zoomIn, () => stage.zoomBy(zoomFactor)),
    iconButton('minus', imageTexts.zoomOut, () => stage.zoomBy(1 / zoomFactor)),
    iconButton('home', imageTexts.whole, () => stage.goHome()),
    iconButton('turn', imageTexts.turn, () => stage.rotate(stage.animatedRotation() + 90)),
    iconButton('download', imageTexts.saveView, onSave),
  ];
  // Some phones support full screen only for videos.
  if (document.fullscreenEnabled)
    buttons.push(iconButton('fullScreen', imageTexts.fullScreen, () => void toggleFullScreen(fullScreenElement)));
  return h('div.stage-buttons.surface.raised', { role: 'toolbar', 'aria-label': imageTexts.view }, ...buttons);
}

function iconButton(iconName: IconName, name: string, onclick: () => void) {
  return button('', onclick, { icon: iconName, name });
}

async function toggleFullScreen(element: HTMLElement) {
  if (element.matches(':fullscreen')) await document.exitFullscreen();
  else await element.requestFullscreen();
}
