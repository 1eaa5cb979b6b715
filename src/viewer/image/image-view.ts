import { ImageAnnotations } from '../annotations/annotations.js';
import { readColorings } from '../annotations/coloring/coloring.js';
import { request } from '../api.js';
import { imageComments } from '../comments/comments.js';
import { append, button, fill, h, messageOf } from '../dom.js';
import { checkSession } from '../session.js';
import { lightControls } from './brightness.js';
import { channelPanel } from './channel-panel.js';
import { channelsOf, writeChannels, type Preset } from './channels.js';
import { frameControls } from './frame-controls.js';
import { snapshotOf } from '../figure/print.js';
import { scaleRow, stageButtons } from './stage-controls.js';
import { loadPresets } from './presets.js';
import { pixelReadout } from './readout.js';
import { openStage } from '../stage/stage.js';
import { ViewState } from './view-state.js';
import type { Stage } from '../stage/stage-contract.js';
import { readList, readPosition, readRotation, writeView, type ViewQuery } from './view-address.js';
import type { FigureSource } from '../figure/compose-figure.js';
import type { ImageMetadata } from './image-metadata.js';
import type { ImageItem } from '../browse/browse-model.js';
import { commonTexts, imageTexts } from '../texts.js';

interface ImageOptions {
  element: HTMLElement;
  item: ImageItem;
  metadata: ImageMetadata;
  /** parameters of the address */
  query: URLSearchParams;
  /** called with the parameters of the view; returns `false` if the user has entered another address, which is about to be shown */
  onAddress: (query: ViewQuery) => boolean | void;
  onProblem?: (message: string) => void;
  /** opens the image again, or shows why that is no longer possible. It is needed because browsers do not repeat failed requests */
  onRetry: () => void;
  /** whether the user may store presets; default `false` */
  mayWrite?: boolean;
  /** whether to offer drawing tools while the image has no annotations; default `false`, because two images side by side leave no space for tools */
  offersFirstShape?: boolean;
  /** whether the user administers the item; default `false` */
  mayManage?: boolean;
  signal: AbortSignal;
}

/**
 * Opens a zoomable image with its controls, annotations and comments. The address contains the view, for example `?frame=2&project=max:0~9&at=x,y,width&rotation=90&channels=…&hide=id&coloring=…&comment=id`.
 */
export async function openImage(options: ImageOptions): Promise<ImageView> {
  const { element, item, metadata, query, onProblem, onRetry, signal } = options;
  const channels = channelsOf(metadata);
  const { presets, defaultChannels } = await loadPresets(item, channels, signal);
  const state = new ViewState(metadata, channels, defaultChannels);
  state.read(query);
  const drawingElement = h('div.stage-drawing');
  const problem = problemNotice(onRetry, onProblem);
  element.replaceChildren(drawingElement);
  const { frame, appearance } = state;
  const stage = await openStage({ element: drawingElement, item, metadata, frame, appearance, onProblem: problem.show, signal });
  return new ImageView({ ...options, state, presets, drawingElement, problem, stage });
}

interface ImageParts extends ImageOptions {
  state: ViewState;
  presets: Preset[];
  /** element in which the image is drawn */
  drawingElement: HTMLElement;
  problem: ReturnType<typeof problemNotice>;
  stage: Stage;
}

/** An open image with its controls. Each method that changes its state also shows the change, and writes it to the address. */
export class ImageView {
  readonly stage: Stage;
  readonly figure: FigureSource;
  /** The comments; `null` on a page that was opened through a link. */
  readonly comments: ReturnType<typeof imageComments>;
  readonly #annotations: ImageAnnotations;
  readonly #readout: ReturnType<typeof pixelReadout>;
  readonly #frameControls: ReturnType<typeof frameControls>;
  readonly #channelPanel: ReturnType<typeof channelPanel>;
  readonly #lightControls: ReturnType<typeof lightControls>;
  #getComparedFigure: () => FigureSource | null = () => null;

  constructor(private readonly parts: ImageParts) {
    const { element, metadata, query, state, problem, stage } = parts;
    this.stage = stage;
    stage.setLight(state.light);
    this.#goToPlace(query, true);
    this.#readout = this.#makeReadout();
    this.#frameControls = this.#makeFrameControls();
    this.#channelPanel = this.#makeChannelPanel();
    this.#lightControls = lightControls(state.light, (newLight) => {
      state.light = newLight;
      this.#showLight();
    });
    append(element, [
      stageButtons(stage, element, () => void this.#openFigureDialog()),
      h('div.stage-footer.wrap.between', scaleRow(stage, metadata), this.#readout.element),
      problem.element,
    ]);
    stage.onRest(() => this.#writeAddress());
    this.#annotations = this.#makeAnnotations();
    this.figure = this.#makeFigure();
    this.comments = this.#makeComments();
  }

  /** A picture of the stage as it is on the screen. */
  takeSnapshot() {
    return snapshotOf(this.figure, this.parts.drawingElement);
  }

  /** Sets the function that returns the image next to this one, so that figures can show both images. */
  setComparedFigureGetter(getComparedFigure: () => FigureSource | null) {
    this.#getComparedFigure = getComparedFigure;
  }

  get annotationPanel() {
    return this.#annotations.panel;
  }

  /** The visible channels in the form that addresses use, even if an address does not need them; `null` for an image without channels. */
  channelsQuery() {
    return writeChannels(this.parts.state.channels) || null;
  }

  get framePanel() {
    return this.#frameControls?.element ?? null;
  }

  /** The panel for channels, or for brightness and contrast. */
  get appearancePanel() {
    return this.parts.state.hasChannels
      ? { title: imageTexts.channels, element: this.#channelPanel.element }
      : { title: imageTexts.light, element: this.#lightControls.element };
  }

  /** Applies another address of the same image, for example after the back button. */
  update(newQuery: URLSearchParams) {
    const { state } = this.parts;
    state.read(newQuery);
    this.#goToPlace(newQuery, false);
    if (newQuery.has('hide')) this.#annotations.applyHiddenIds(readList(newQuery.get('hide')));
    this.#annotations.setColorings(readColorings(newQuery.get('coloring')));
    this.#showLight();
    this.#lightControls.set(state.light);
    this.#channelPanel.set(state.channels);
    this.#frameControls?.set(state.frame, state.projection);
    void this.#showFrame(state.frame, []);
    this.comments?.open(newQuery.get('comment'));
  }

  #makeReadout() {
    const { stage, drawingElement, item, metadata, state, signal } = this.parts;
    return pixelReadout({
      stage,
      element: drawingElement,
      itemId: item._id,
      metadata,
      currentFrame: () => state.firstVisibleFrame,
      sampleSources: () => state.sampleSources,
      currentProjection: () => state.projection,
      signal,
    });
  }

  #makeFrameControls() {
    const { metadata, state, stage, signal } = this.parts;
    return frameControls(metadata, state, state.isMixed, {
      onFrame: (nextFrame, likelyFrames) => this.#showFrame(nextFrame, likelyFrames),
      whenDrawn: stage.whenDrawn,
      signal,
      onProjection: (newProjection) => {
        state.projection = newProjection;
        this.#channelPanel.refresh();
        void this.#showFrame(state.frame, []);
      },
    });
  }

  #makeChannelPanel() {
    const { item, presets, state, mayWrite = false, signal } = this.parts;
    return channelPanel({
      item,
      channels: state.channels,
      presets,
      mayWrite,
      frameOf: (channel) => state.frameOf(channel),
      currentProjection: () => state.projection,
      onChange: (newChannels) => {
        state.channels = newChannels;
        void this.#showFrame(state.frame, []);
      },
      signal,
    });
  }

  #makeAnnotations() {
    const { element, item, metadata, stage, drawingElement, query, offersFirstShape = false, onRetry, signal } = this.parts;
    return new ImageAnnotations({
      item,
      metadata,
      stage,
      drawingElement,
      container: element,
      hiddenIds: readList(query.get('hide')),
      colorings: readColorings(query.get('coloring')),
      offersFirstShape,
      writeAddress: () => this.#writeAddress(),
      onRefused: onRetry,
      signal,
    });
  }

  #makeFigure(): FigureSource {
    const { item, metadata, stage, state } = this.parts;
    return {
      item,
      metadata,
      stage,
      currentAppearance: () => ({ frame: state.frame, light: state.light, ...state.appearance }),
      visibleChannels: () => state.channels.filter(({ isVisible }) => isVisible),
      layersIn: (box, signal) => this.#annotations.layersIn(box, signal),
    };
  }

  #makeComments() {
    const { item, metadata, stage, drawingElement, query, state, mayManage = false, signal } = this.parts;
    return imageComments({
      item,
      stage,
      drawingElement,
      width: metadata.sizeX,
      openId: query.get('comment'),
      hasPosition: query.has('at'),
      mayManage,
      currentFrame: () => ((metadata.frames?.length ?? 1) > 1 ? state.firstVisibleFrame : null),
      showFrame: (nextFrame) => {
        this.#frameControls?.set(nextFrame, state.projection);
        void this.#showFrame(nextFrame, []);
      },
      shapeAt: (stagePoint) => this.#annotations.shapeAt(stagePoint),
      selectedShape: () => this.#annotations.selectedShape,
      onOpenChange: () => this.#writeAddress(),
      signal,
    });
  }

  /** Opens the dialog for figures. Its script is loaded when the dialog is first opened. */
  async #openFigureDialog() {
    const { drawingElement, state, problem, signal } = this.parts;
    try {
      const { showFigureDialog } = await import('../figure/figure-dialog.js');
      if (signal.aborted) return;
      const currentDisplay = () => ({ frame: state.frame, ...state.appearance, shownChannels: state.shownFrames });
      showFigureDialog({
        source: this.figure,
        getComparedSource: this.#getComparedFigure,
        drawingElement,
        currentDisplay,
        signal,
      });
    } catch (error) {
      problem.show(messageOf(error));
    }
  }

  #goToPlace(query: URLSearchParams, isImmediate: boolean) {
    const { stage, metadata } = this.parts;
    const position = readPosition(query.get('at'), metadata);
    // After a rotation, the whole image fits at another zoom.
    stage.rotate(readRotation(query), true);
    if (position) stage.goTo(position);
    else stage.goHome(isImmediate);
  }

  #showLight() {
    this.stage.setLight(this.parts.state.light);
    this.#writeAddress();
  }

  async #showFrame(nextFrame: number, likelyFrames: number[]) {
    const { state, stage, problem, signal } = this.parts;
    const isOtherFrame = state.frame !== nextFrame;
    state.frame = nextFrame;
    this.#writeAddress();
    try {
      if (isOtherFrame) this.#channelPanel.refresh();
      if (isOtherFrame) this.comments?.refresh();
      await stage.showFrame(nextFrame, { ...state.appearance, likely: likelyFrames });
      this.#readout.refresh();
    } catch (error) {
      if (!signal.aborted) problem.show(messageOf(error));
    }
  }

  #writeAddress() {
    const { state, stage, onAddress, signal } = this.parts;
    if (signal.aborted) return;
    const { frame, project, channels } = state.write();
    const { at, rotation, light } = writeView(stage.position(), state.light, stage.rotation());
    const hide = this.#annotations.hiddenIds.join(',') || null;
    const { coloring } = this.#annotations;
    const comment = this.comments?.openId() ?? null;
    // The address has the parameters in this order.
    if (onAddress({ frame, project, at, rotation, channels, light, hide, coloring, comment }) !== false)
      this.#annotations.rememberAddress();
  }
}

/** A notice of what cannot be shown, with a button to try again. */
function problemNotice(onRetry: () => void, onProblem?: (message: string) => void) {
  const element = h('div.stage-problem.row', { role: 'alert', hidden: true });
  const show = (message: string) => {
    if (element.hidden) fill(element, h('p', message), button(commonTexts.tryAgain, onRetry));
    element.hidden = false;
    onProblem?.(message);
    void checkSession();
  };
  return { element, show };
}

/** Requests an item and the metadata of its image. */
export async function requestImage(itemId: string, signal: AbortSignal) {
  const path = `item/${encodeURIComponent(itemId)}` as const;
  const [item, metadata] = await Promise.all([
    request('GET', `${path}/tiles/item`, { signal }),
    request('GET', `${path}/tiles`, { signal }),
  ]);
  return { item, metadata };
}
