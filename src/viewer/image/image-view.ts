import { ImageAnnotations } from '../annotations/annotations.js';
import { readColorings } from '../annotations/coloring/coloring.js';
import { request } from '../api.js';
import { showComments } from '../comments/comments.js';
import { append, button, fill, h, messageOf } from '../dom.js';
import { checkSession } from '../session.js';
import { lightControls } from './brightness.js';
import { channelPanel } from './channel-panel.js';
import { channelsOf, writeChannels } from './channels.js';
import { frameControls } from './frame-controls.js';
import { snapshotOf } from '../figure/print.js';
import { scaleRow, stageButtons } from './overlays.js';
import { loadPresets } from './presets.js';
import { pixelReadout } from './readout.js';
import { openStage } from '../stage/stage.js';
import { ViewState } from './view-state.js';
import { readList, readPosition, readRotation, writePlace, type ViewQuery } from './view-address.js';
import type { FigureSource } from '../figure/compose.js';
import type { ImageMetadata } from './metadata.js';
import type { ImageItem } from '../browse/model.js';
import { commonTexts, imageTexts } from '../texts.js';

export type ImageView = Awaited<ReturnType<typeof openImage>>;

interface ImageOptions {
  element: HTMLElement;
  item: ImageItem;
  metadata: ImageMetadata;
  /** from the address */
  query: URLSearchParams;
  /** called with the query of the view; returns `false` if the user has entered another address, which is about to be shown */
  onAddress: (query: ViewQuery) => boolean | void;
  onProblem?: (message: string) => void;
  /** reopens the image, because the browser does not repeat failed requests, or says why it cannot be opened any more */
  onRetry: () => void;
  /** whether the user may store presets, and draws the first shape without making an annotation; default no */
  mayWrite?: boolean;
  /** whether the user administers the item; default no */
  mayManage?: boolean;
  signal: AbortSignal;
}

/**
 * A zoomable image with everything on it. The address contains the view: `?frame=2&project=max:0~9&at=x,y,width&rotation=90&channels=…&hide=id&coloring=…&comment=id`.
 */
export async function openImage(options: ImageOptions) {
  const { element, item, metadata, query, onAddress, onProblem, onRetry, mayWrite = false, mayManage = false, signal } = options;
  const known = channelsOf(metadata);
  const { presets, firstShown } = await loadPresets(item, known, signal);
  const view = new ViewState(metadata, known, firstShown);
  view.read(query);
  const drawing = h('div.stage-drawing');
  const problem = problemNotice(onRetry, onProblem);
  element.replaceChildren(drawing);
  const { frame, look } = view;
  const stage = await openStage({ element: drawing, item, metadata, frame, look, onProblem: problem.show, signal });
  stage.setLight(view.light);
  goToPlace(query, true);
  const projection = () => view.projection;
  const readout = pixelReadout({
    stage,
    element: drawing,
    itemId: item._id,
    metadata,
    frame: () => view.firstFrame,
    samples: () => view.samples,
    projection,
    signal,
  });
  const controls = frameControls(metadata, view, view.isMixed, {
    frame: showFrame,
    drawn: stage.whenDrawn,
    signal,
    projection(next) {
      view.projection = next;
      channels.refresh();
      void showFrame(view.frame, []);
    },
  });
  const channels = channelPanel({
    item,
    channels: view.channels,
    presets,
    mayWrite,
    frameOf: (channel) => view.frameOf(channel),
    projection,
    onChange(next) {
      view.channels = next;
      void showFrame(view.frame, []);
    },
    signal,
  });
  const lights = lightControls(view.light, (next) => {
    view.light = next;
    showLight();
  });
  const shown = () => ({ frame: view.frame, ...view.look, some: view.someFrames });
  let beside: () => FigureSource | null = () => null;
  append(element, [
    stageButtons(stage, element, () => void saveFigure()),
    h('div.stage-footer.wrap.between', scaleRow(stage, metadata), readout.element),
    problem.element,
  ]);
  stage.onRest(writeAddress);
  const annotations = new ImageAnnotations({
    item,
    metadata,
    stage,
    drawing,
    container: element,
    hide: readList(query.get('hide')),
    colorings: readColorings(query.get('coloring')),
    offersFirst: mayWrite,
    onHide: writeAddress,
    onRefused: onRetry,
    signal,
  });

  const figure: FigureSource = {
    item,
    metadata,
    stage,
    look: () => ({ frame: view.frame, light: view.light, ...view.look }),
    channels: () => view.channels.filter(({ on }) => on),
    layersIn: (box, asking) => annotations.layersIn(box, asking),
  };

  const comments = showComments({
    item,
    stage,
    drawing,
    width: metadata.sizeX,
    open: query.get('comment'),
    isPlaced: query.has('at'),
    mayManage,
    frame: () => ((metadata.frames?.length ?? 1) > 1 ? view.firstFrame : null),
    showFrame(next) {
      controls?.set(next, view.projection);
      void showFrame(next, []);
    },
    shapeAt: (at) => annotations.shapeAt(at),
    selectedShape: () => annotations.selectedShape,
    onOpen: writeAddress,
    signal,
  });

  return {
    stage,
    figure,
    /** A picture of the stage as it is on the screen. */
    snapshot: () => snapshotOf(figure, drawing),
    /** Puts another image next to this one in figures. */
    showBeside: (other: () => FigureSource | null) => (beside = other),
    annotations: annotations.panel,
    comments,
    /** The channels as addresses have them, even if they are those that are shown first here; `null` without channels. */
    channels: () => writeChannels(view.channels) || null,
    frameControls: controls?.element ?? null,
    /** The panel for channels, or for brightness and contrast. */
    look:
      known.length > 0
        ? { title: imageTexts.channels, element: channels.element }
        : { title: imageTexts.light, element: lights.element },
    /** Applies another address of the same image, for example after the back button. */
    update(next: URLSearchParams) {
      view.read(next);
      goToPlace(next, false);
      if (next.has('hide')) annotations.hideOnly(readList(next.get('hide')));
      annotations.color(readColorings(next.get('coloring')));
      showLight();
      lights.set(view.light);
      channels.set(view.channels);
      controls?.set(view.frame, view.projection);
      void showFrame(view.frame, []);
      comments?.open(next.get('comment'));
    },
  };

  /** Opens the dialog for figures, whose script is loaded when it is first needed. */
  async function saveFigure() {
    try {
      const { figureDialog } = await import('../figure/dialog.js');
      if (!signal.aborted) figureDialog({ source: figure, beside, drawing, shown, signal });
    } catch (error) {
      problem.show(messageOf(error));
    }
  }

  function goToPlace(from: URLSearchParams, isImmediate: boolean) {
    const position = readPosition(from.get('at'), metadata);
    // After a rotation, the whole image fits at another zoom.
    stage.rotate(readRotation(from), true);
    if (position) stage.goTo(position);
    else stage.goHome(isImmediate);
  }

  function showLight() {
    stage.setLight(view.light);
    writeAddress();
  }

  async function showFrame(next: number, likely: number[]) {
    const isOther = view.frame !== next;
    view.frame = next;
    writeAddress();
    try {
      if (isOther) channels.refresh();
      if (isOther) comments?.refresh();
      await stage.showFrame(next, { ...view.look, likely });
      readout.refresh();
    } catch (error) {
      if (!signal.aborted) problem.show(messageOf(error));
    }
  }

  function writeAddress() {
    if (signal.aborted) return;
    const { frame: index, project, channels: mixed } = view.write();
    const { at, rotation, light } = writePlace(stage.position(), view.light, stage.rotation());
    // The address has the parameters in this order.
    const hide = annotations.hidden.join(',') || null;
    const coloring = annotations.coloring;
    const comment = comments?.current() ?? null;
    if (onAddress({ frame: index, project, at, rotation, channels: mixed, light, hide, coloring, comment }) !== false)
      annotations.tell();
  }
}

/** Says what cannot be shown, with a button to try again. */
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
