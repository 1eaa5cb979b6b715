import type { LargeImageMetadata } from '../../../tilesource/metadata.js';
import { fitSize } from '../../../tilesource/region-plan.js';
import { identifierOf } from './identifier.js';

/** The JSON-LD context of the Presentation API's documents. */
export const presentationContext = 'http://iiif.io/api/presentation/3/context.json';

/** Maximum number of frames that a manifest lists. */
const maxFrames = 1000;
/** Longest side of thumbnails in pixels. */
const thumbnailSide = 256;

/** The facts about an image from which its manifest is made. */
export interface PresentedImage {
  itemId: string;
  name: string;
  metadata: LargeImageMetadata;
  rights?: string | undefined;
  attribution?: string | undefined;
}

type Json = Record<string, unknown>;

/** A frame in the metadata of a large image: its number, and its index along each axis. */
interface Frame {
  Frame: number;
  [key: string]: unknown;
}

const iiifText = (text: string) => ({ none: [text] });
const serviceOf = (id: string) => [{ id, type: 'ImageService3', profile: 'level2' }];

/**
 * The manifest of an item. It has a canvas for each position in depth, time and so on. The channels of a position are a choice on its
 * canvas.
 */
export function itemManifest(root: string, image: PresentedImage): Json {
  const positions = groupFramesByPosition(image.metadata);
  let frameCount = 0;
  const listedPositions = positions.filter((frames) => (frameCount += frames.length) <= maxFrames);
  const canvases = (listedPositions.length > 0 ? listedPositions : [positions[0]!.slice(0, maxFrames)]).map((frames) =>
    canvasOf(root, image, frames),
  );
  const omittedCount = positions.length - canvases.length;
  const { rights, attribution } = image;
  return {
    '@context': presentationContext,
    id: `${root}/${image.itemId}/manifest.json`,
    type: 'Manifest',
    label: iiifText(image.name),
    ...(omittedCount > 0 && { summary: { en: [`${omittedCount} more positions are not listed here.`] } }),
    metadata: metadataEntriesOf(image.metadata),
    ...(rights !== undefined && { rights }),
    ...(attribution !== undefined && {
      requiredStatement: { label: { en: ['Attribution'] }, value: iiifText(attribution) },
    }),
    thumbnail: thumbnailOf(root, image.itemId, image.metadata),
    items: canvases,
  };
}

/**
 * The manifest of images of a folder, with a canvas for the first position of each image.
 *
 * @param omittedCount number of images of the folder that are not in `images`.
 */
export function folderManifest(
  root: string,
  folder: { id: string; name: string },
  images: readonly PresentedImage[],
  omittedCount: number,
): Json {
  return {
    '@context': presentationContext,
    id: `${root}/folder/${folder.id}/manifest.json`,
    type: 'Manifest',
    label: iiifText(folder.name),
    ...(omittedCount > 0 && { summary: { en: [`${omittedCount} more images are listed only in the collection.`] } }),
    partOf: [{ id: `${root}/folder/${folder.id}/collection.json`, type: 'Collection' }],
    items: images.map((image) => ({
      ...canvasOf(root, image, groupFramesByPosition(image.metadata)[0]!),
      label: iiifText(image.name),
    })),
  };
}

/** The collection of a folder. It lists the collections of its subfolders and the manifests of its images. */
export function folderCollection(
  root: string,
  folder: { id: string; name: string },
  { folders, items }: Readonly<Record<'folders' | 'items', readonly { id: string; name: string }[]>>,
): Json {
  return {
    '@context': presentationContext,
    id: `${root}/folder/${folder.id}/collection.json`,
    type: 'Collection',
    label: iiifText(folder.name),
    items: [
      ...folders.map(({ id, name }) => ({
        id: `${root}/folder/${id}/collection.json`,
        type: 'Collection',
        label: iiifText(name),
      })),
      ...items.map(({ id, name }) => ({
        id: `${root}/${id}/manifest.json`,
        type: 'Manifest',
        label: iiifText(name),
        thumbnail: [
          {
            id: `${root}/${id}/full/!${thumbnailSide},${thumbnailSide}/0/default.jpg`,
            type: 'Image',
            format: 'image/jpeg',
            service: serviceOf(`${root}/${id}`),
          },
        ],
      })),
    ],
  };
}

/** Groups the frames by position: frames of a group differ only in the channel. Groups and frames stay in the order of the file. */
function groupFramesByPosition({ frames }: LargeImageMetadata): Frame[][] {
  const framesByPosition = new Map<string, Frame[]>();
  for (const frame of (frames as Frame[] | undefined) ?? [{ Frame: 0 }]) {
    const position = JSON.stringify(axesOf(frame));
    const group = framesByPosition.get(position);
    if (group === undefined) framesByPosition.set(position, [frame]);
    else group.push(frame);
  }
  return [...framesByPosition.values()];
}

/** The canvas for one position. @param frames the frames of the position, one for each channel. */
function canvasOf(root: string, { itemId, name, metadata }: PresentedImage, frames: readonly Frame[]): Json {
  const [firstFrame] = frames as [Frame];
  const id = `${root}/${itemId}/canvas/${firstFrame.Frame}`;
  const { sizeX: width, sizeY: height, mm_x: mmX } = metadata;
  const images = frames.map((frame) => {
    const imageAddress = `${root}/${identifierOf({ itemId, frame: frame.Frame })}`;
    return {
      id: `${imageAddress}/full/max/0/default.jpg`,
      type: 'Image',
      format: 'image/jpeg',
      ...(frames.length > 1 && { label: iiifText(channelLabelOf(frame)) }),
      width,
      height,
      service: serviceOf(imageAddress),
    };
  });
  const body = images.length === 1 ? images[0] : { type: 'Choice', items: images };
  return {
    id,
    type: 'Canvas',
    label: iiifText(positionName(firstFrame) ?? name),
    width,
    height,
    thumbnail: thumbnailOf(root, identifierOf({ itemId, frame: firstFrame.Frame }), metadata),
    ...(mmX !== null && {
      service: [
        {
          '@context': 'http://iiif.io/api/annex/services/physdim/1/context.json',
          id: `${id}/physdim`,
          type: 'PhysicalDimensions',
          profile: 'http://iiif.io/api/annex/services/physdim',
          physicalScale: mmX,
          physicalUnits: 'mm',
        },
      ],
    }),
    items: [
      {
        id: `${id}/page`,
        type: 'AnnotationPage',
        items: [{ id: `${id}/painting`, type: 'Annotation', motivation: 'painting', body, target: id }],
      },
    ],
  };
}

function channelLabelOf({ Channel, IndexC, Frame }: Frame): string {
  if (typeof Channel === 'string' && Channel !== '') return Channel;
  return `Channel ${(typeof IndexC === 'number' ? IndexC : Frame) + 1}`;
}

/** The index of a frame along each axis except the channel. */
function axesOf(frame: Frame): [axis: string, value: number][] {
  return Object.entries(frame).flatMap(([key, value]): [string, number][] => {
    const axis = /^Index(.+)$/.exec(key)?.[1];
    return axis !== undefined && axis !== 'C' && typeof value === 'number' ? [[axis, value]] : [];
  });
}

/**
 * The position of a frame as a text for people, such as `Z 1, T 3` or `Z 1, Left kidney`. Indices count from 1. `null` if the channel is
 * the only axis.
 */
function positionName(frame: Frame): string | null {
  const { Position: positionLabel } = frame;
  const axes = axesOf(frame).map(([axis, value]) =>
    axis === 'XY' && typeof positionLabel === 'string' ? positionLabel : `${axis} ${value + 1}`,
  );
  return axes.length === 0 ? null : axes.join(', ');
}

function thumbnailOf(root: string, identifier: string, { sizeX, sizeY }: LargeImageMetadata): Json[] {
  const fullSize = { width: sizeX, height: sizeY };
  const isSmall = Math.max(sizeX, sizeY) <= thumbnailSide;
  const { width, height } = isSmall ? fullSize : fitSize(fullSize, { width: thumbnailSide, height: thumbnailSide });
  const size = isSmall ? 'max' : `${width},${height}`;
  const service = serviceOf(`${root}/${identifier}`);
  return [
    { id: `${root}/${identifier}/full/${size}/0/default.jpg`, type: 'Image', format: 'image/jpeg', width, height, service },
  ];
}

function metadataEntriesOf({ sizeX, sizeY, magnification, mm_x, mm_y, channels }: LargeImageMetadata): Json[] {
  const labeledValues: [label: string, value: string][] = [['Size', `${sizeX} × ${sizeY} pixels`]];
  if (magnification !== null) labeledValues.push(['Magnification', `${Number(magnification.toPrecision(4))} ×`]);
  if (mm_x !== null) labeledValues.push(['Pixel size', `${toMicrometers(mm_x)} × ${toMicrometers(mm_y ?? mm_x)} µm`]);
  if (channels !== undefined) labeledValues.push(['Channels', channels.join(', ')]);
  return labeledValues.map(([label, value]) => ({ label: { en: [label] }, value: iiifText(value) }));
}

function toMicrometers(mm: number): number {
  return Number((mm * 1000).toPrecision(6));
}
