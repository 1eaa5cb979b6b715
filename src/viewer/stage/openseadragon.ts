import type OpenSeadragonLibrary from 'openseadragon';

export type OpenSeadragon = typeof OpenSeadragonLibrary;
export type Viewer = InstanceType<OpenSeadragon['Viewer']>;
export type TiledImage = InstanceType<OpenSeadragon['TiledImage']>;

/** Loads the library that draws tiles. It is large, so it is loaded when the first image is opened. */
export async function loadOpenSeadragon(): Promise<OpenSeadragon> {
  if (!document.querySelector('[data-openseadragon-mobile-css]')) {
    // The library adds a style element, which security policies may forbid, unless it finds an element with this attribute. In an
    // unknown namespace, this element has no other effect.
    const mark = document.createElementNS('urn:mark', 'style');
    mark.setAttribute('data-openseadragon-mobile-css', 'true');
    document.head.append(mark);
  }
  return (await import('openseadragon')).default;
}
