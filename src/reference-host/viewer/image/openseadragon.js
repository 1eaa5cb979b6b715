// @ts-check

/** @typedef {typeof import('openseadragon')} OpenSeadragon */

/** @type {Promise<OpenSeadragon> | null} */
let loading = null;

/**
 * The library that draws tiles. It is a classic script of some size, so it is fetched when the first image is opened.
 *
 * @returns {Promise<OpenSeadragon>}
 */
export function loadOpenSeadragon() {
  loading ??= fetchScript().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** @returns {Promise<OpenSeadragon>} */
function fetchScript() {
  return new Promise((resolve, reject) => {
    // The library adds a style element, which the page's security policy forbids, unless it finds one marked like this. In a
    // namespace of no meaning it is nothing but the mark.
    const mark = document.createElementNS('urn:mark', 'style');
    mark.setAttribute('data-openseadragon-mobile-css', 'true');
    const script = document.createElement('script');
    script.src = document.getElementById('app-script')?.dataset.openseadragon ?? '';
    script.addEventListener('load', () => resolve(/** @type {any} */ (globalThis).OpenSeadragon));
    script.addEventListener('error', () => {
      script.remove();
      reject(new Error('The image viewer could not be loaded. Is the network connection up?'));
    });
    document.head.append(mark, script);
  });
}
