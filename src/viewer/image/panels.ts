import { imageFacts, section } from './facts.js';
import type { ImageView } from './image-view.js';
import type { ImageMetadata } from './image-metadata.js';
import { imageTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

/** The panels next to an image, in order. */
export const panelNames = ['frames', 'look', 'annotations', 'comments', 'image'] as const;

export type PanelName = (typeof panelNames)[number];

/** Builds the panels next to an open image. @param pixelSizeButton an element to show below the facts of the image */
export function imagePanels(
  image: ImageView,
  metadata: ImageMetadata,
  names: readonly PanelName[] = panelNames,
  pixelSizeButton: HTMLElement | null = null,
) {
  const { framePanel, appearancePanel, annotationPanel, comments } = image;
  const makers: Record<PanelName, () => HTMLElement | null> = {
    frames: () => framePanel && section(imageTexts.facts.frames, true, framePanel),
    look: () => section(appearancePanel.title, appearancePanel.title === imageTexts.channels, appearancePanel.element),
    annotations: () => section(annotationTexts.annotations, true, annotationPanel),
    comments: () => comments?.show() ?? null,
    image: () => section(imageTexts.image, true, imageFacts(metadata), ...(pixelSizeButton ? [pixelSizeButton] : [])),
  };
  return panelNames.filter((name) => names.includes(name)).flatMap((name) => makers[name]() ?? []);
}
