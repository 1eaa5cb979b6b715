/**
 * Version of how pictures look and histograms are counted. It is a part of the keys of tile caches, of entity tags, and of the notes of stored
 * thumbnails. It must be raised in each release in which the same request for the same file is answered with a visibly different picture, or other
 * numbers; otherwise caches, browsers and stored files go on showing the former ones.
 */
export const rendering: { readonly version: number } = { version: 1 };
