import { showAnnotations } from '../annotations/annotations.js';
import { request } from '../api.js';
import { append, button, fill, h, messageOf } from '../dom.js';
import { checkSession } from '../session.js';
import { lightControls, type Light } from './brightness.js';
import { channelPanel } from './channel-panel.js';
import { channelsOf, readChannels, styleOf, writeChannels, type Channel } from './channels.js';
import { frameControls } from './frame-controls.js';
import { axesOf, frameAt, openingFrame, positionOf, readFrame, type ImageMetadata } from './metadata.js';
import { readProjection, writeProjection, type Projection } from './projection.js';
import { saveView } from './save-view.js';
import { scaleRow, stageButtons } from './overlays.js';
import { loadPresets } from './presets.js';
import { pixelReadout } from './readout.js';
import { openStage } from '../stage/stage.js';
import type { ImageItem } from '../browse/model.js';
import { readLight, readList, readPosition, readRotation, writePlace, type ViewQuery } from './view-address.js';
import { commonTexts, imageTexts } from '../texts.js';

export type ImageView = Awaited<ReturnType<typeof openImage>>;

/**
 * A zoomable image with everything on it. The address contains the view: `?frame=2&project=max:0~9&at=x,y,width&rotation=90&channels=…&hide=id`.
 */
export async function openImage(options: {
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
  /** whether the user may store presets; default no */
  mayWrite?: boolean;
  signal: AbortSignal;
}) {
  const { element, item, metadata, query, onAddress, onProblem, onRetry, mayWrite = false, signal } = options;
  let frame = readFrame(query.get('frame'), metadata);
  const known = channelsOf(metadata);
  const axis = axesOf(metadata).find(({ key }) => key === 'IndexC');
  const isMixed = known.length > 0 && 'framedelta' in (known[0] as Channel).source;
  const { presets, firstShown } = await loadPresets(item, known, signal);
  let channels = readView(query);
  const depth = axesOf(metadata).find(({ key }) => key === 'IndexZ');
  let projection = readProjection(query.get('project'), depth);
  let light = readLight(query.get('light'));
  const drawing = h('div.stage-drawing');
  const problem = problemNotice(onRetry, onProblem);
  element.replaceChildren(drawing);
  const stage = await openStage({
    element: drawing,
    item,
    metadata,
    frame,
    look: look(),
    onProblem: problem.show,
    signal,
  });
  stage.setLight(light);
  const start = readPosition(query.get('at'), metadata);
  stage.rotate(readRotation(query), true);
  if (start) stage.goTo(start);
  else stage.goHome(true);
  const readout = pixelReadout({
    stage,
    element: drawing,
    itemId: item._id,
    metadata,
    frame: shownFrame,
    projection: () => projection,
    signal,
  });
  const controls = frameControls(metadata, { frame, projection }, isMixed, {
    frame: showFrame,
    drawn: stage.whenDrawn,
    signal,
    projection: project,
  });
  const mixing = channelPanel({
    itemId: item._id,
    channels,
    presets,
    mayWrite,
    frameOf,
    projection: () => projection,
    onChange: mix,
    signal,
  });
  const lights = lightControls(light, shine);
  append(element, [
    stageButtons(stage, element, () =>
      saveView({ item, metadata, stage, drawing, shown: () => ({ frame, ...look(), some: someFrames() }) }),
    ),
    h('div.stage-footer.wrap.between', scaleRow(stage, metadata), readout.element),
    problem.element,
  ]);
  stage.onRest(writeAddress);
  const hide = readList(query.get('hide'));
  const annotations = showAnnotations({
    item,
    metadata,
    stage,
    drawing,
    container: element,
    hide,
    onHide: writeAddress,
    onRefused: onRetry,
    signal,
  });

  return {
    stage,
    annotations: annotations.panel,
    frameControls: controls?.element ?? null,
    /** The panel for channels, or for brightness and contrast. */
    look:
      known.length > 0
        ? { title: imageTexts.channels, element: mixing.element }
        : { title: imageTexts.light, element: lights.element },
    /** Applies another address of the same image, for example after the back button. */
    update(next: URLSearchParams) {
      const position = readPosition(next.get('at'), metadata);
      // After a rotation, the whole image fits at another zoom.
      stage.rotate(readRotation(next), true);
      if (position) stage.goTo(position);
      else stage.goHome();
      if (next.has('hide')) annotations.hideOnly(readList(next.get('hide')));
      shine(readLight(next.get('light')));
      lights.set(light);
      frame = readFrame(next.get('frame'), metadata);
      channels = readView(next);
      projection = readProjection(next.get('project'), depth);
      mixing.set(channels);
      controls?.set(frame, projection);
      void showFrame(frame, []);
    },
  };

  /** Reads the channels of an address. A frame that is one of several channels selects that channel alone. */
  function readView(from: URLSearchParams) {
    const text = from.get('channels');
    const position = isMixed && axis ? positionOf(axis, frame) : 0;
    if (axis && isMixed) frame = frameAt(axis, frame, 0);
    const read = text === null ? null : readChannels(text, known);
    if (read) return read;
    return position === 0 ? firstShown : firstShown.map((channel, index) => ({ ...channel, on: index === position }));
  }

  function frameOf({ source }: Channel) {
    return frame + ('framedelta' in source ? source.framedelta : 0);
  }

  /** The frames of the visible channels; `null` if these are all or none, or are no frames. */
  function someFrames() {
    const shown = channels.filter(({ on }) => on);
    return isMixed && shown.length > 0 && shown.length < channels.length ? shown.map(frameOf) : null;
  }

  function shownFrame() {
    const first = channels.find(({ on }) => on);
    return first ? frameOf(first) : frame;
  }

  function look() {
    return { style: styleOf(channels), projection };
  }

  function project(next: Projection | null) {
    projection = next;
    mixing.refresh();
    void showFrame(frame, []);
  }

  function mix(next: Channel[]) {
    channels = next;
    void showFrame(frame, []);
  }

  function shine(next: Light) {
    light = next;
    stage.setLight(light);
    writeAddress();
  }

  async function showFrame(next: number, likely: number[]) {
    const isOther = frame !== next;
    frame = next;
    writeAddress();
    try {
      if (isOther) mixing.refresh();
      await stage.showFrame(next, { ...look(), likely });
      readout.refresh();
    } catch (error) {
      if (!signal.aborted) problem.show(messageOf(error));
    }
  }

  function writeAddress() {
    if (signal.aborted) return;
    const mixed = writeChannels(channels);
    const place = writePlace(stage.position(), light, stage.rotation());
    // The address has the parameters in this order.
    const query = {
      frame: frame === openingFrame(metadata) ? null : frame,
      project: writeProjection(projection),
      at: place.at,
      rotation: place.rotation,
      channels: mixed === writeChannels(firstShown) ? null : mixed,
      light: place.light,
      hide: annotations.hidden().join(',') || null,
    };
    if (onAddress(query) !== false) annotations.tell();
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
