// @ts-check
import { showAnnotations } from '../annotations/annotations.js';
import { request } from '../api.js';
import { append, h } from '../dom.js';
import { replaceRoute, routeHash } from '../router.js';
import { checkSession } from '../session.js';
import { lightControls } from './brightness.js';
import { channelPanel } from './channel-panel.js';
import { applyPreset, channelsOf, presetsOf, readChannels, styleOf, writeChannels } from './channels.js';
import { frameControls } from './frame-controls.js';
import { axesOf, frameAt, positionOf, readFrame } from './metadata.js';
import { scaleRow, stageButtons } from './overlays.js';
import { pixelReadout } from './readout.js';
import { openStage } from './stage.js';

/**
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 */

/**
 * An image in deep zoom with everything that lies on it. Frame, place and hidden annotations are kept in the address: `?frame=2&at=x,y,width&channels=…&hide=id`.
 *
 * @param {object} options
 * @param {HTMLElement} options.element
 * @param {Item} options.item
 * @param {ImageMetadata} options.metadata
 * @param {URLSearchParams} options.query of the address
 * @param {AbortSignal} options.signal
 */
export async function openImage({ element, item, metadata, query, signal }) {
  let frame = readFrame(query.get('frame'), metadata);
  const known = channelsOf(metadata);
  const axis = axesOf(metadata).find(({ key }) => key === 'IndexC');
  const isMixed = known.length > 0 && 'framedelta' in /** @type {import('./channels.js').Channel} */ (known[0]).source;
  const { presets, usual } = await loadPresets(item, known, signal);
  let channels = readView(query);
  let light = readLight(query.get('light'));
  const drawing = h('div', { class: 'stage-drawing' });
  const problem = h('p', { class: 'stage-problem', role: 'alert', hidden: true });
  element.replaceChildren(drawing);
  const stage = await openStage({
    element: drawing,
    item,
    metadata,
    frame,
    style: styleOf(channels),
    onProblem: showProblem,
    signal,
  });
  stage.setLight(light);
  const start = readPosition(query.get('at'));
  if (start) stage.goTo(start);
  const readout = pixelReadout({ stage, element: drawing, itemId: item._id, metadata, frame: shownFrame, signal });
  const controls = frameControls(metadata, frame, isMixed, (next, likely) => void showFrame(next, likely));
  const mixing = channelPanel({ itemId: item._id, channels, presets, frameOf, onChange: mix, signal });
  const lights = lightControls(light, shine);
  append(element, [
    stageButtons(stage, element),
    h('div', { class: 'stage-footer' }, scaleRow(stage, metadata), readout.element),
    problem,
  ]);
  stage.onRest(writeAddress);
  const hide = readList(query.get('hide'));
  const annotations = showAnnotations({ item, metadata, stage, drawing, container: element, hide, onHide: writeAddress, signal });

  return {
    annotations: annotations.panel,
    frameControls: controls?.element ?? null,
    /** What the picture is made of, or how bright it is. */
    look:
      known.length > 0
        ? { title: 'Channels', element: mixing.element }
        : { title: 'Brightness and contrast', element: lights.element },
    /** Follows an address of the same image, as from the back button. @param {URLSearchParams} next */
    update(next) {
      const position = readPosition(next.get('at'));
      if (position) stage.goTo(position);
      else stage.goHome();
      if (next.has('hide')) annotations.hideOnly(readList(next.get('hide')));
      shine(readLight(next.get('light')));
      lights.set(light);
      frame = readFrame(next.get('frame'), metadata);
      channels = readView(next);
      mixing.set(channels);
      controls?.set(frame);
      void showFrame(frame, []);
      return true;
    },
  };

  /** Channels as an address has them; a frame that is one channel among several is that channel alone. @param {URLSearchParams} from */
  function readView(from) {
    const text = from.get('channels');
    const position = isMixed && axis ? positionOf(axis, frame) : 0;
    if (axis && isMixed) frame = frameAt(axis, frame, 0);
    if (text !== null) return readChannels(text, known);
    return position === 0 ? usual : usual.map((channel, index) => ({ ...channel, on: index === position }));
  }

  /** @param {import('./channels.js').Channel} channel */
  function frameOf({ source }) {
    return frame + ('framedelta' in source ? source.framedelta : 0);
  }

  function shownFrame() {
    const first = channels.find(({ on }) => on);
    return first ? frameOf(first) : frame;
  }

  /** @param {import('./channels.js').Channel[]} next */
  function mix(next) {
    channels = next;
    void showFrame(frame, []);
  }

  /** @param {import('./brightness.js').Light} next */
  function shine(next) {
    light = next;
    stage.setLight(light);
    writeAddress();
  }

  /** @param {number} next @param {number[]} likely */
  async function showFrame(next, likely) {
    const isOther = frame !== next;
    frame = next;
    writeAddress();
    try {
      if (isOther) mixing.refresh();
      await stage.showFrame(next, { style: styleOf(channels), likely });
      readout.refresh();
    } catch (error) {
      if (!signal.aborted) showProblem(String(error));
    }
  }

  /** @param {string} message */
  function showProblem(message) {
    problem.textContent = message;
    problem.hidden = false;
    // The browser loads pictures by itself, and does not say why one fails.
    void checkSession();
  }

  function writeAddress() {
    if (signal.aborted) return;
    const position = stage.position();
    const at = position && `${position.x},${position.y},${position.width}`;
    const mixed = writeChannels(channels);
    const query = {
      frame: frame || null,
      at,
      channels: mixed === writeChannels(usual) ? null : mixed,
      light: light.brightness === 100 && light.contrast === 100 ? null : `${light.brightness},${light.contrast}`,
      hide: annotations.hidden().join(',') || null,
    };
    replaceRoute(routeHash('item', item._id, query));
  }
}

/**
 * Presets of an image with channels, and how it is shown at first: as the folder's settings say, else by itself.
 *
 * @param {Item} item
 * @param {import('./channels.js').Channel[]} known
 * @param {AbortSignal} signal
 */
async function loadPresets(item, known, signal) {
  if (known.length === 0) return { presets: [], usual: known };
  // Each of them may be missing, or closed to the reader: then there are fewer presets.
  const [settings, kept, internal] = await Promise.all(
    [
      `folder/${item.folderId}/yaml_config/.large_image_config.yaml`,
      `item/${item._id}/internal_metadata/presets`,
      `item/${item._id}/tiles/internal_metadata`,
    ].map((path) => request('GET', path, { signal }).catch(() => null)),
  );
  const presets = presetsOf({ configured: settings?.imageFramePresets, kept, omero: internal?.omero });
  const defaults = Array.isArray(settings?.imageFramePresetDefaults) ? settings.imageFramePresetDefaults : [];
  const first = presets.find(({ name }) => defaults.some((/** @type {{ name?: string }} */ entry) => entry?.name === name));
  return { presets, usual: first ? applyPreset(first, known) : known };
}

/** @param {string | null} text @returns {import('./brightness.js').Light} */
function readLight(text) {
  const [brightness = 100, contrast = 100] = (text ?? '').split(',').map((part) => (/^\d{2,3}$/.test(part) ? Number(part) : 100));
  return { brightness, contrast };
}

/** The entries of a list separated by commas. @param {string | null} text */
function readList(text) {
  return (text ?? '').split(',').filter((entry) => entry !== '');
}

/**
 * @param {string | null} text
 * @returns {import('./stage.js').ViewPosition | null}
 */
function readPosition(text) {
  const [x = NaN, y = NaN, width = NaN] = (text ?? '').split(',').map((part) => (part === '' ? NaN : Number(part)));
  return [x, y, width].every(Number.isFinite) && width >= 1 ? { x, y, width } : null;
}
