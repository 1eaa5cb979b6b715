import { readChannels, styleOf, writeChannels, type Channel } from './channels.js';
import { axesOf, frameAt, openingFrame, positionOf, readFrame, type ImageMetadata } from './image-metadata.js';
import { readProjection, writeProjection, type Projection } from './projection.js';
import { readLight } from './view-address.js';
import type { LightSettings } from './brightness.js';
import type { FrameAppearance } from '../stage/stage-contract.js';

/** How an image is shown, except for the position: its frame, projection, channels and light. The address contains the whole state. */
export class ViewState {
  frame = 0;
  channels: Channel[] = [];
  projection: Projection | null = null;
  light: LightSettings = readLight(null);
  /** Whether several frames, one for each channel, are combined. */
  readonly isMixed: boolean;

  /** @param defaultChannels the channels that are shown if the address names none */
  constructor(
    private readonly metadata: ImageMetadata,
    private readonly allChannels: Channel[],
    private readonly defaultChannels: Channel[],
  ) {
    const [first] = allChannels;
    this.isMixed = first !== undefined && 'framedelta' in first.source;
  }

  get hasChannels() {
    return this.allChannels.length > 0;
  }

  /** Reads the state from an address. */
  read(query: URLSearchParams) {
    this.frame = readFrame(query.get('frame'), this.metadata);
    this.channels = this.#readChannels(query.get('channels'));
    this.projection = readProjection(query.get('project'), this.#axis('IndexZ'));
    this.light = readLight(query.get('light'));
  }

  /** The channels in an address. If the address names no channels, but has a frame of a later channel, only that channel is visible. Also sets `frame` to the corresponding frame of the first channel. */
  #readChannels(text: string | null) {
    const axis = this.isMixed ? this.#axis('IndexC') : undefined;
    const channelIndex = axis ? positionOf(axis, this.frame) : 0;
    if (axis) this.frame = frameAt(axis, this.frame, 0);
    const addressChannels = text === null ? null : readChannels(text, this.allChannels);
    if (addressChannels) return addressChannels;
    if (channelIndex === 0) return this.defaultChannels;
    return this.defaultChannels.map((channel, index) => ({ ...channel, isVisible: index === channelIndex }));
  }

  #axis(name: string) {
    return axesOf(this.metadata).find(({ key }) => key === name);
  }

  /** The parameters for an address. Parameters with default values are `null`. */
  write() {
    const channels = writeChannels(this.channels);
    return {
      frame: this.frame === openingFrame(this.metadata) ? null : this.frame,
      project: writeProjection(this.projection),
      channels: channels === writeChannels(this.defaultChannels) ? null : channels,
    };
  }

  get appearance(): FrameAppearance {
    return { style: styleOf(this.channels), projection: this.projection };
  }

  /** The current frame of a channel. */
  frameOf({ source }: Channel) {
    return this.frame + ('framedelta' in source ? source.framedelta : 0);
  }

  /** The frame of the first visible channel. */
  get firstVisibleFrame() {
    const first = this.channels.find(({ isVisible }) => isVisible);
    return first ? this.frameOf(first) : this.frame;
  }

  /** The frame and band of the samples of each visible channel; empty for images with fewer than two channels. */
  get sampleSources() {
    if (this.allChannels.length < 2) return [];
    const visibleChannels = this.channels.filter(({ isVisible }) => isVisible);
    return visibleChannels.map((channel) => {
      const { name, source } = channel;
      return { name, frame: this.frameOf(channel), band: 'band' in source ? source.band : 1 };
    });
  }

  /** The frames of the visible channels; `null` if all channels or none are visible, or if channels are not frames. */
  get shownFrames() {
    const visibleChannels = this.channels.filter(({ isVisible }) => isVisible);
    const areOnlySomeShown = this.isMixed && visibleChannels.length > 0 && visibleChannels.length < this.channels.length;
    return areOnlySomeShown ? visibleChannels.map((channel) => this.frameOf(channel)) : null;
  }
}
