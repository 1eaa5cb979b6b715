/** The kinds of access that a link can give. The kind `view`, the page of an image, is given only if the maker of the link asks for it. */
export const linkKinds = ['zarr', 'dicomweb', 'view'] as const;

/** One of {@link linkKinds}. */
export type LinkKind = (typeof linkKinds)[number];

/** The item or folder that a link opens. */
export interface LinkSubject {
  type: 'item' | 'folder';
  id: string;
}
