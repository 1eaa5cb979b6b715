import { lightRange, type LightSettings } from './brightness.js';
import type { ImageMetadata } from './image-metadata.js';
import type { ViewPosition } from '../stage/stage-contract.js';

/** Maximum width of a view in an address, as a multiple of the longer side of the image. */
const maxWidthFactor = 100;

/** The parameters of a view in an address. */
export type ViewQuery = Record<
  'frame' | 'project' | 'at' | 'rotation' | 'channels' | 'light' | 'hide' | 'coloring' | 'comment',
  string | number | null
>;

/** The address parameters for a position, a rotation, and brightness and contrast. Parameters with default values are `null`. */
export function writeView(position: ViewPosition | null, { brightness, contrast }: LightSettings, rotation: number) {
  return {
    at: position && `${position.x},${position.y},${position.width}`,
    rotation: Number(rotation.toFixed(2)) || null,
    light: brightness === 100 && contrast === 100 ? null : `${brightness},${contrast}`,
  };
}

/** Brightness and contrast in an address; 100 percent for missing or invalid values. */
export function readLight(text: string | null): LightSettings {
  const parts = (text ?? '').split(',').map(Number);
  const [brightness = 100, contrast = 100] = parts.map((part) => (part >= lightRange.min && part <= lightRange.max ? part : 100));
  return { brightness, contrast };
}

/** The entries of a list separated by commas. */
export function readList(text: string | null) {
  return (text ?? '').split(',').filter((entry) => entry !== '');
}

/** The rotation in an address, in degrees. */
export function readRotation(query: URLSearchParams) {
  const degrees = Number(query.get('rotation') ?? 0);
  return Number.isFinite(degrees) ? degrees % 360 : 0;
}

/** Reads a position; `null` if the image would not be visible there. */
export function readPosition(text: string | null, { sizeX, sizeY }: ImageMetadata): ViewPosition | null {
  const [x = NaN, y = NaN, width = NaN] = (text ?? '').split(',').map((part) => (part === '' ? NaN : Number(part)));
  const isNear = Math.abs(x - sizeX / 2) <= sizeX / 2 + width && Math.abs(y - sizeY / 2) <= sizeY / 2 + width;
  return isNear && width >= 1 && width <= maxWidthFactor * Math.max(sizeX, sizeY) ? { x, y, width } : null;
}
